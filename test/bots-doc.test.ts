import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChatServer, isChatError } from '@parley/client/server'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startBackend } from '../examples/backend/backend.ts'
import { startBot } from '../examples/bot/bot.ts'
import { root } from './support/consumer.ts'
import { examplesOf, runExamples } from './support/examples.ts'
import { freePort } from './support/ports.ts'
import { wsUrlOf } from './support/realtime.ts'
import { until } from './support/until.ts'
import { createWorld, type World } from './support/world.ts'

let world: World
let port = 0
beforeAll(async () => {
  port = await freePort()
  const allowedHosts = [`127.0.0.1:${port}`]
  const wsUrl = () => wsUrlOf(world)
  world = await createWorld({ jobs: {}, wsUrl, webhooks: { allowedHosts } })
})
afterAll(() => world.stop())

test('the examples for bots work as they are', async () => {
  const { url, apiKey } = world
  const given = { createChatServer, url, apiKey }
  const names = ['message', 'text', 'length', 'repeated', 'finished', 'splice']
  const results = await runExamples(examplesOf('docs/bots.md'), given, names)
  const { message, text, length, repeated, finished, splice } = results
  const said = 'You asked: Where is my parcel?'
  expect(message).toMatchObject({ text: said, streaming: false, userId: 'order-bot' })
  expect(text({ text: 'It is', streaming: true })).toBe('It is▍')
  expect(text({ text: 'It', streaming: false, interrupted: true })).toBe('It (interrupted)')
  expect([length, repeated.length, finished.text]).toEqual([8, 8, 'Hello 👍!'])
  expect([splice('ab', { at: 1, text: 'bc' }), splice('ab', { at: 3, text: 'd' })]).toEqual([
    'abc',
    undefined,
  ])
})

describe('the example backend', () => {
  const webhookUrl = () => `http://127.0.0.1:${port}/`
  let inbox = ''
  beforeEach(() => {
    inbox = mkdtempSync(join(tmpdir(), 'parley-inbox-'))
    onTestFinished(() => rmSync(inbox, { recursive: true }))
  })
  const isInboxEmpty = () => readdirSync(inbox).length === 0
  const start = async (fetch = globalThis.fetch) => {
    const { url, apiKey } = world
    const about = { port, webhookUrl: webhookUrl(), inbox, fetch }
    const backend = await startBackend({ url, apiKey, ...about })
    onTestFinished(async () => void (await backend.stop()))
    return backend
  }
  const answered = async (channelId: string, question: string) => {
    const bot = world.api({ apiKey: world.apiKey, userId: 'order-bot' })
    const read = async () => (await bot.messages.list({ channelId })).messages
    await until(async () =>
      (await read()).some(({ text, streaming }) => text.includes(question) && streaming === false),
    )
    return (await read()).map(({ type, userId, text }) => [type, userId, text])
  }
  const said = (question: string, order: number) =>
    `You asked: "${question}" Order ${order} is packed and leaves our house today.`

  test('the example backend is shorter than 100 lines', () => {
    const text = readFileSync(join(root, 'examples/backend/backend.ts'), 'utf8')
    expect(text.split('\n').length - 1).toBeLessThan(100)
  })

  test('opens an order, and streams an answer to its customer', async () => {
    const { openOrder } = await start()
    // The customer is new to Parley.
    const { id: channelId, custom } = await openOrder(7, 'olga')
    const [olga] = await world.users('olga')
    expect((await openOrder(7, 'olga')).id).toBe(channelId)
    expect(custom).toEqual({ orderId: 7 })
    await olga.messages.send({ channelId, text: 'Where is it?' })
    expect(await answered(channelId, 'Where is it?')).toEqual([
      ['system', 'parley.system', 'Thanks for order 7. Ask us here.'],
      ['regular', 'olga', 'Where is it?'],
      ['regular', 'order-bot', said('Where is it?', 7)],
    ])
    const forged = await fetch(webhookUrl(), { method: 'POST', body: '{"type":"message.new"}' })
    expect(forged.status).toBe(400)
    await until(isInboxEmpty)
  })

  /** A backend that begins to answer, and goes on once `isHeld` is false. */
  const slow = () => {
    const state = { asked: '', isHeld: true, secret: '' }
    const slowFetch: typeof fetch = async (...request) => {
      const url = String(request[0])
      if (/\/channels\/[^/]+$/.test(url)) {
        state.asked += url
        await until(() => !state.isHeld)
      }
      const response = await fetch(...request)
      if (url.endsWith('/rotate'))
        Object.assign(state, (await response.clone().json()) as { secret: string }) // as documented
      return response
    }
    return { state, started: start(slowFetch) }
  }
  const keep = (id: string, channelId: string, message: object) => {
    const data = { channelId, message: { type: 'regular', userId: 'ana', channelId, ...message } }
    const body = JSON.stringify({ type: 'message.new', data })
    writeFileSync(join(inbox, id), body)
    return body
  }

  test('a stop of the backend waits for the answer that is in progress', async () => {
    const { state, started } = slow()
    const { openOrder, stop } = await started
    const { id: channelId } = await openOrder(12, 'ana')
    const ana = world.api({ apiKey: world.apiKey, userId: 'ana' })
    await ana.messages.send({ channelId, text: 'Any hurry?' })
    await until(() => state.asked.includes(channelId))
    const left = stop().then(() => readdirSync(inbox))
    state.isHeld = false
    expect(await left).toEqual([])
  })

  test('a delivery that comes again while taken from the inbox is answered once', async () => {
    const first = await start()
    const { id: channelId } = await first.openOrder(13, 'ana')
    await first.stop()
    const body = keep('again', channelId, { id: 'm2', text: 'Twice?' })
    const { state, started } = slow()
    await until(() => state.asked.includes(channelId))
    const sent = new Date()
    const headers = {
      'webhook-id': 'again',
      'webhook-timestamp': String(Math.floor(sent.getTime() / 1_000)),
      'webhook-signature': new Webhook(state.secret).sign('again', sent, body),
    }
    expect((await fetch(webhookUrl(), { method: 'POST', headers, body })).status).toBe(204)
    state.isHeld = false
    await (await started).stop()
    expect([state.asked.split(channelId).length - 1, readdirSync(inbox)]).toEqual([1, []])
  })

  test('a restart answers messages sent meanwhile, and one left in the inbox once', async () => {
    const first = await start()
    const { id: channelId } = await first.openOrder(8, 'ana')
    await first.stop()
    const ana = world.api({ apiKey: world.apiKey, userId: 'ana' })
    await ana.messages.send({ channelId, text: 'Anybody there?' })
    // A process that ends between its answer and the work leaves such a file.
    keep('kept', channelId, { id: 'm1', text: 'Hello?' })
    await start()
    await answered(channelId, 'Anybody there?')
    const all = await answered(channelId, 'Hello?')
    expect(all.filter(([, , text]) => text === said('Hello?', 8))).toHaveLength(1)
    const { webhooks } = await world.backend.webhooks.list({})
    expect(webhooks.filter(({ url }) => url === webhookUrl())).toHaveLength(1)
  })

  test('a restart completes interrupted answers, and drops unanswerable messages', async () => {
    const first = await start()
    const { id: channelId } = await first.openOrder(10, 'ana')
    await first.stop()
    const bot = world.api({ apiKey: world.apiKey, userId: 'order-bot' })
    const asked = ['growing', 'interrupted', 'begun'].map((id) => ({ id, text: `Still ${id}?` }))
    for (const { id } of asked) {
      const text = id === 'begun' ? '' : 'You asked'
      await bot.messages.send({ channelId, text, streaming: true, clientId: `answer-${id}` })
    }
    await world.db`
      update messages
      set streaming = false, interrupted = true
      where client_id = 'answer-interrupted'`
    await world.db`
      delete from message_streams ms
      using messages msg
      where msg.id = ms.message_id
        and msg.client_id = 'answer-interrupted'`
    for (const one of asked) keep(one.id, channelId, one)
    keep('nowhere', crypto.randomUUID(), { id: 'm', text: 'Hello?' })
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    await start()
    expect(log.mock.calls.filter(([, error]) => isChatError(error, 'NOT_FOUND'))).toHaveLength(1)
    const answers = (await bot.messages.list({ channelId })).messages.slice(1)
    expect(
      answers.map(({ text, streaming, interrupted }) => [text, streaming, interrupted]),
    ).toEqual(asked.map(({ text }) => [said(text, 10), false, undefined]))
    // This test's own messages may still arrive: they were refused until the backend had started.
    await until(isInboxEmpty)
  })

  test('a question asked while the webhook was disabled is answered once', async () => {
    const first = await start()
    const { id: channelId } = await first.openOrder(9, 'ana')
    await first.stop()
    const { webhooks } = await world.backend.webhooks.list({})
    const { id: webhookId = '' } = webhooks.find(({ url }) => url === webhookUrl()) ?? {}
    await world.backend.webhooks.update({ webhookId, enabled: false })
    const ana = world.api({ apiKey: world.apiKey, userId: 'ana' })
    await ana.messages.send({ channelId, text: 'Still nobody?' })
    await start()
    const all = await answered(channelId, 'Still nobody?')
    expect(all.filter(([, , text]) => text === said('Still nobody?', 9))).toHaveLength(1)
  })

  test('starts again after its webhook has failed for more days than events are kept', async () => {
    const first = await start()
    const { id: channelId } = await first.openOrder(11, 'ana')
    await first.stop()
    await world.db`
      update webhooks
      set enabled = false, disabled_reason = 'failing', failing_since = now() - interval '5 days'
      where url = ${webhookUrl()}
        and app_id = ${world.appId}`
    const ana = world.api({ apiKey: world.apiKey, userId: 'ana' })
    await ana.messages.send({ channelId, text: 'After days?' })
    await start()
    const all = await answered(channelId, 'After days?')
    expect(all.filter(([, , text]) => text === said('After days?', 11))).toHaveLength(1)
  })
})

test('the example bot answers a user with the text of its file', async () => {
  const { url, apiKey } = world
  const file = join(root, 'examples/bot/text.txt')
  const stop = await startBot({ url, apiKey, userId: 'reader', file, pauseMs: 0 })
  try {
    const [ana] = await world.users('ana')
    const { id: channelId } = await ana.channels.create({
      type: 'messaging',
      memberIds: ['reader'],
    })
    const read = async () => (await ana.messages.list({ channelId })).messages
    let asked = 0
    // It may not be subscribed yet to a channel that is this new.
    const answer = await until(async () => {
      const found = (await read()).find(({ userId }) => userId === 'reader')
      if (!found && asked++ % 50 === 0) await ana.messages.send({ channelId, text: 'Well?' })
      return found?.streaming === false && found
    })
    expect(answer.text).toMatch(/^I have no model behind me.*`answer`\.\n$/s)
  } finally {
    stop()
  }
})
