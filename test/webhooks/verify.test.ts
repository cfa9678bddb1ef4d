import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@parley/client/server'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const event = {
  type: 'webhook.test',
  timestamp: '2026-11-21T09:30:00.000Z',
  appId: '019c9b1d-11aa-7b2c-8c3d-4e5f60718293',
  data: { webhookId: '019c9b21-7f40-7c5d-8e6f-708192031425', name: 'Šárka 🎻' },
}
const body = JSON.stringify(event)

/** The headers with which a delivery is sent, some time ago. */
function headersOf(text = body, { secondsAgo = 0, key = secret } = {}) {
  const at = new Date(Date.now() - secondsAgo * 1_000)
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(key).sign('msg_1', at, text),
  }
}

test('a signed request is the event, in the form of any framework', async () => {
  const headers = headersOf()
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  )
  for (const request of [
    new Request('https://shop.example.com/', { method: 'POST', headers, body }),
    { headers, body },
    { headers: new Headers(headers), body: Buffer.from(body) },
    { headers: upper, body: new TextEncoder().encode(body) },
  ])
    expect(await verifyWebhook(request, secret)).toEqual(event)
})

test('a request with two signatures is accepted with the secret of either', async () => {
  const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
  const [headers, more] = [headersOf(), headersOf(body, { key: other })]
  const signature = `${more['webhook-signature']} ${headers['webhook-signature']}`
  const request = { headers: { ...headers, 'webhook-signature': signature }, body }
  expect(await verifyWebhook(request, secret)).toEqual(event)
  expect(await verifyWebhook(request, other)).toEqual(event)
})

test('a request that was forged, changed or is old is no event', async () => {
  const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
  const { 'webhook-id': _, ...withoutId } = headersOf()
  for (const request of [
    { headers: headersOf(body, { key: other }), body },
    { headers: headersOf(), body: body.replace('test', 'text') },
    { headers: { ...headersOf(), 'webhook-id': 'msg_2' }, body },
    { headers: headersOf(body, { secondsAgo: 600 }), body },
    { headers: withoutId, body },
    { headers: {}, body },
  ])
    await expect(verifyWebhook(request, secret)).rejects.toThrow(WebhookVerificationError)
})

test('the type of an event determines the type of its data', () => {
  const textOf = (event: WebhookEvent) => {
    if (event.type === 'message.new') return `${event.data.rev} ${event.data.message.text}`
    return event.type === 'channel.added' ? event.data.userId : event.appId
  }
  // @ts-expect-error: a test has no message
  const wrong = (event: WebhookEvent) => event.type === 'webhook.test' && event.data.message
  expect([textOf, wrong]).toHaveLength(2)
})
