import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

/** A new secret, in the form that the Standard Webhooks convention gives to keys. */
export const newWebhookSecret = () => `whsec_${randomBytes(24).toString('base64')}`

/**
 * The headers of a request that is signed with each of the secrets, at a time by the database's
 * clock: receivers refuse one that is minutes off, and the clock of this machine may be wrong.
 */
export function signedHeaders({
  id,
  body,
  secrets,
  at,
}: {
  id: string
  body: string
  secrets: string[]
  at: string
}) {
  const time = new Date(at)
  return {
    'content-type': 'application/json',
    'user-agent': 'Parley webhook',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': secrets
      .map((secret) => new Webhook(secret).sign(id, time, body))
      .join(' '),
  }
}
