import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { verifyBeforeSend, WebhookVerificationError } from '@parley/client/server'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { expect, onTestFinished, test, vi } from 'vitest'
import { answering } from '../support/receiver.ts'
import { complaint, forbidden, notFound, refusal } from '../support/refusal.ts'
import { patient, until } from '../support/until.ts'
import { deciding, useHooks } from './fixture.ts'

const { current, newScene } = useHooks()
const allow = deciding({ action: 'allow' })

test('a hook is asked about each message of a user, and what it allows is stored', async () => {
  const { send, stored, asked, secret, appId, channelId } = await newScene()
  current().receiver.answerWith(allow)
  await send('First', { type: 'regular', custom: { orderId: 7 }, clientId: 'c1', silent: true })
  const sent = await send('Second')
  expect(await stored()).toEqual([
    [1, 'First'],
    [2, 'Second'],
  ])
  const [first, second] = asked()
  if (!first || !second || asked().length > 2) throw new Error('it was not asked once a message')
  const { timestamp, ...question } = await verifyBeforeSend(first, secret)
  expect(Math.abs(Date.parse(sent.createdAt) - Date.parse(timestamp))).toBeLessThan(60_000)
  expect(question).toEqual({
    type: 'message.before_send',
    appId,
    data: {
      channelId,
      userId: 'ana',
      text: 'First',
      attachments: [],
      custom: { orderId: 7 },
      clientId: 'c1',
      silent: true,
    },
  })
  expect(first.headers['webhook-id']).not.toBe(second.headers['webhook-id'])
  const other = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  await expect(verifyBeforeSend(first, other)).rejects.toThrow(WebhookVerificationError)
})

test('where a hook is set, users cannot stream messages, and the backend can', async () => {
  const { ana, apiKey, backend, channelId, asked } = await newScene()
  current().receiver.answerWith(allow)
  const asAna = current().world.api({ apiKey, userId: 'ana' })
  const begin = { channelId, text: 'So', streaming: true }
  expect(await refusal(ana.messages.send(begin))).toEqual(forbidden)
  const begun = await asAna.messages.send(begin)
  const append = { channelId, messageId: begun.id, at: 2, text: ' far' }
  expect(await refusal(ana.streams.append(append))).toEqual(forbidden)
  expect(await asAna.streams.append(append)).toEqual({ length: 6 })
  expect((await ana.streams.finish(append)).text).toBe('So far')
  expect(asked()).toEqual([])
  expect((await backend.messages.list({ channelId })).messages).toHaveLength(1)
})

test('a message is stored and shown to everyone as its hook has changed it', async () => {
  const { send, ben, channelId, asked } = await newScene()
  const attachments = [{ type: 'image', url: 'https://example.com/b.png' }]
  current().receiver.answerWith(
    deciding({ action: 'change', text: 'Hello @ben', attachments, custom: { checked: true } }),
  )
  const sent = await send('Hello @carl', { custom: { draft: true } })
  expect(sent).toMatchObject({
    text: 'Hello @ben',
    mentions: ['ben'],
    attachments,
    custom: { checked: true },
  })
  const { messages } = await ben.messages.list({ channelId })
  expect(messages).toEqual([sent])
  current().receiver.answerWith(deciding({ action: 'change', custom: {} }))
  expect(await send('As it was', { custom: { draft: true } })).toMatchObject({
    text: 'As it was',
    attachments: [],
  })
  expect(asked().map(({ data }) => data.text)).toEqual(['Hello @carl', 'As it was'])
})

test('a refused message is not stored, and its author receives the reason', async () => {
  const { send, stored } = await newScene()
  const { receiver } = current()
  receiver.answerWith(deciding({ action: 'refuse', reason: 'No links, please' }))
  const refused = send('https://spam.example.com', { clientId: 'c1' })
  expect([await refusal(refused), await complaint(refused)]).toEqual([
    forbidden,
    'No links, please',
  ])
  receiver.answerWith(allow)
  await send('Sorry')
  expect(await stored()).toEqual([[1, 'Sorry']])
})

test('a repeated message is not screened again, and does not count towards the limit', async () => {
  const { appId, ana, channelId, send, stored, asked } = await newScene()
  const { receiver, world } = current()
  await world.operator.apps.update({ appId, settings: { rateLimits: { messages: 2 } } })
  receiver.answerWith(deciding({ action: 'change', text: 'Changed' }))
  const sent = await send('Hello', { clientId: 'c1' })
  receiver.answerWith(deciding({ action: 'refuse', reason: 'No' }))
  const messages = [{ text: 'Hello', clientId: 'c1' }]
  for (let repeat = 0; repeat < 3; repeat++) {
    expect(await send('Hello', { clientId: 'c1' })).toEqual(sent)
    expect(await ana.messages.sendBatch({ channelId, messages })).toEqual({
      results: [{ message: sent }],
    })
  }
  expect(asked()).toHaveLength(1)
  expect(await stored()).toEqual([[1, 'Changed']])
  receiver.answerWith(allow)
  await send('Another', { clientId: 'c2' })
})

const allowingWith = (status: number) => (response: ServerResponse) =>
  response.writeHead(status).end('{"action":"allow"}')
const unusable = [
  ['a status of 500', answering(500)],
  ['an allowance and a status of 500', allowingWith(500)],
  ['an allowance and a redirect', allowingWith(302)],
  ['no content', answering(204)],
  ['a redirect', answering(302, { location: '/elsewhere' })],
  ['an upgrade', answering(101)],
  ['no JSON', deciding(undefined)],
  ['an unknown action', deciding({ action: 'delete' })],
  ['no reason', deciding({ action: 'refuse' })],
  ['a text that is too long', deciding({ action: 'change', text: 'x'.repeat(10_001) })],
  ['nothing left of the message', deciding({ action: 'change', text: '' })],
  ['a closed connection', (response: ServerResponse) => response.destroy()],
] as const

test.each(unusable)(
  'a hook that answers with %s is handled as its `onError` says',
  async (_, answer) => {
    const [allowing, denying] = [await newScene({ onError: 'allow' }), await newScene()]
    current().receiver.answerWith(answer)
    expect(await allowing.send('Hello')).toMatchObject({ text: 'Hello' })
    const denied = denying.send('Hello')
    expect([await refusal(denied), await complaint(denied)]).toEqual([
      forbidden,
      'The message could not be checked',
    ])
    expect([allowing.asked().length, denying.asked().length]).toEqual([1, 1])
    expect(await denying.stored()).toEqual([])
  },
)

test('a hook that answers too late is not waited for', async () => {
  const { send, stored } = await newScene({ onError: 'allow', timeoutMs: 100 })
  const denying = await newScene({ onError: 'deny', timeoutMs: 100 })
  current().receiver.answerWith(() => {})
  await send('Hello')
  expect(await stored()).toEqual([[1, 'Hello']])
  expect(await refusal(denying.send('Hello'))).toEqual(forbidden)
})

test('messages that wait for a hook hold no connection, and delay no other app', async () => {
  const { send, stored, asked } = await newScene()
  const other = await newScene()
  await other.backend.hooks.deleteBeforeSend()
  const { receiver, world } = current()
  const held: (() => void)[] = []
  receiver.answerWith((response) => held.push(() => allow(response)))
  const sends = Array.from({ length: 6 }, (_, n) => send(`m${n}`))
  await until(() => asked().length === 6)
  const carl = await other.userOf('carl')
  await carl.channels.create({ type: 'public', name: 'Town' })
  const { channelId } = other
  await other.backend.messages.send({ channelId, text: 'Not screened' })
  expect((await world.backend.channels.list()).channels).toEqual([])
  expect(await stored()).toEqual([])
  for (const release of held) release()
  await Promise.all(sends)
  expect((await stored()).map(([seq]) => seq)).toEqual([1, 2, 3, 4, 5, 6])
})

test('messages of a backend are not screened, whether its own or sent as a user', async () => {
  const { backend, apiKey, channelId, asked, stored } = await newScene()
  current().receiver.answerWith(deciding({ action: 'refuse', reason: 'No' }))
  await backend.messages.send({ channelId, text: 'From the backend' })
  const asAna = current().world.api({ apiKey, userId: 'ana' })
  await asAna.messages.send({ channelId, text: 'As ana' })
  expect((await stored()).map(([, text]) => text)).toEqual(['From the backend', 'As ana'])
  expect(asked()).toEqual([])
})

test('a message that its author may not send is refused before its hook sees it', async () => {
  const { userOf, channelId, asked } = await newScene()
  const outsider = await userOf('olga')
  expect(await refusal(outsider.messages.send({ channelId, text: 'Hello' }))).toEqual(forbidden)
  const missing = crypto.randomUUID()
  expect(await refusal(outsider.messages.send({ channelId: missing, text: 'Hello' }))).toEqual(
    notFound,
  )
  expect(asked()).toEqual([])
})

test('a hook screens the messages of its app only', async () => {
  const ours = await newScene()
  const theirs = await newScene()
  current().receiver.answerWith(allow)
  await ours.send('Ours')
  await theirs.send('Theirs')
  expect(ours.asked().map(({ data }) => data.text)).toEqual(['Ours'])
  expect(theirs.asked().map(({ data }) => data.text)).toEqual(['Theirs'])
})

test('the hook is asked about each message of a batch, which keeps its order', async () => {
  const { ana, channelId, stored } = await newScene()
  let asked = 0
  current().receiver.answerWith((response) => {
    asked += 1
    // Later questions are answered first.
    const answer = asked === 2 ? { action: 'refuse', reason: 'No' } : { action: 'allow' }
    setTimeout(() => deciding(answer)(response), 100 / asked)
  })
  const messages = ['1', '2', '3', '4'].map((text) => ({ text, clientId: text }))
  const { results } = await ana.messages.sendBatch({ channelId, messages })
  expect(asked).toBe(4)
  expect(results.filter(({ error }) => error?.code === 'FORBIDDEN')).toHaveLength(1)
  const accepted = results.flatMap(({ message }) => message?.text ?? [])
  expect((await stored()).map(([, text]) => text)).toEqual(accepted)
})

test('a hook that answers without reading the request leaves no connection open', async () => {
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
    onTestFinished(() => void socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  // More than the buffers of the system hold.
  const body = 'x'.repeat(16 * 1024 * 1024)
  const request = createGuardedRequest({ allowedHosts: [host] })
  const response = await request(new URL(`http://${host}`), {
    method: 'POST',
    headers: {},
    body,
    signal: new AbortController().signal,
  })
  const { socket } = response
  expect(await response.toArray()).toEqual([Buffer.from('{}')])
  await vi.waitUntil(() => socket.destroyed, patient)
})
