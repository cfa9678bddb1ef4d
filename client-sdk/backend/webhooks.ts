import { Webhook } from 'standardwebhooks'
import type { BeforeSendQuestion, WebhookEvents } from '../generated/types.ts'

/** An event that a webhook was sent: a union discriminated by `type`. */
export type WebhookEvent = {
  [Type in keyof WebhookEvents]: {
    type: Type
    /** When it happened. */
    timestamp: string
    appId: string
    data: WebhookEvents[Type]
  }
}[keyof WebhookEvents]

/** A request as frameworks hand it over: with its body as it was sent, not parsed. */
export type WebhookRequest =
  | Request
  | {
      /** The request's headers, of which three belong to the signature. */
      headers: Headers | Record<string, string | string[] | undefined>
      /** The bytes that were sent, or their text. */
      body: string | Uint8Array
    }

/**
 * The event of a request to a webhook. Rejects with a WebhookVerificationError if the request was
 * not signed with the secret, was changed, or is more than five minutes old. An event may come more
 * than once, each time with the same `webhook-id` header.
 */
export const verifyWebhook = (request: WebhookRequest, secret: string) =>
  verify<WebhookEvent>(request, secret)

/**
 * The question of a request to a before-send hook; the response says what becomes of the message,
 * as a `BeforeSendAnswer`. Rejects like `verifyWebhook`.
 */
export const verifyBeforeSend = (request: WebhookRequest, secret: string) =>
  verify<BeforeSendQuestion>(request, secret)

async function verify<Body>(request: WebhookRequest, secret: string): Promise<Body> {
  const body = request instanceof Request ? await request.text() : textOf(request.body)
  const webhook = new Webhook(secret)
  try {
    // Signed by the server, which sends what the contract says.
    return webhook.verify(body, headersOf(request.headers)) as Body
  } catch (error) {
    throw new WebhookVerificationError('unable to verify the webhook', { cause: error })
  }
}

/** A request to a webhook was not signed with its secret; `cause` says what is wrong. */
export class WebhookVerificationError extends Error {
  /** Tells this error from others. */
  override readonly name = 'WebhookVerificationError'
}

const textOf = (body: string | Uint8Array) =>
  typeof body === 'string' ? body : new TextDecoder().decode(body)

/** Of headers that were sent more than once, the first counts. */
function headersOf(headers: Exclude<WebhookRequest, Request>['headers']) {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat()[0] ?? '']))
}
