import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

/** A new secret, in the form that the Standard Webhooks convention gives to keys. */
export const newWebhookSecret = () => `whsec_${randomBytes(24).toString('base64')}`

/** The headers of a request that is signed with each of the secrets. */
export function signedHeaders({
  id,
  body,
  secrets,
}: {
  id: string
  body: string
  secrets: string[]
}) {
  const now = new Date()
  return {
    'content-type': 'application/json',
    'user-agent': 'Parley webhook',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  }
}
