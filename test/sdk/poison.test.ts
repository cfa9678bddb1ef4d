import type { OutgoingMessage } from '@parley/client'
import { expect, test } from 'vitest'
import { isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Messages that cannot be sent: why they wait, and when they are given up. */

const SEND = /^POST .*\/messages$/
const page = (status: number, headers: Record<string, string> = {}) =>
  new Response('<h1>an error page</h1>', { status, headers })

async function live() {
  const clock = stoppedClock()
  const chat = scriptedChat()
  chat.channel('c')
  await chat.chat.connect()
  return { clock, ...chat, room: chat.chat.channel('c') }
}

type Sending = Pick<OutgoingMessage, 'message' | 'sent'>

/** Lets seconds pass until a message has failed that was pending before. */
async function untilFailed(
  poison: Sending,
  onFailed: () => void,
  passSecond: () => Promise<unknown>,
) {
  let failed = false
  poison.sent.catch(() => {
    failed = true
    onFailed()
  })
  for (let second = 0; second < 400 && !failed; second++) {
    expect(poison.message.status).toBe('pending')
    await passSecond()
  }
}

test.each([408, 425, 500, 502, 504])(
  'a message that the server answers with %i ten times has failed, and the next ones are sent',
  async (status) => {
    const { clock, intercept, refuseRequests, count, room } = await live()
    intercept(SEND, () => page(status))
    const poison = room.send({ text: 'poison' })
    const next = room.send({ text: 'next' })
    await untilFailed(poison, refuseRequests, () => clock.forward(1_000))
    await next.sent
    expect(poison.message).toMatchObject({
      status: 'failed',
      error: { status },
      waiting: undefined,
    })
    expect(count(SEND)).toBe(11)
    poison.retry()
    expect(await poison.sent).toMatchObject({ text: 'poison' })
    expect(count(SEND)).toBe(12)
  },
)

const SENDS = /^POST .*\/messages(\/batch)?$/
const reset = () => {
  throw new TypeError('the connection was reset')
}

test('a message whose request is reset ten times while others are answered fails', async () => {
  const { chat, clock, intercept, refuseRequests, count, room } = await live()
  intercept(SENDS, reset)
  const poison = room.send({ text: 'poison' })
  const next = room.send({ text: 'next' })
  await untilFailed(poison, refuseRequests, () => {
    void chat.api.users.get({ userId: 'ana' }).catch(() => {})
    return clock.forward(1_000)
  })
  await next.sent
  expect(poison.message).toMatchObject({ status: 'failed', error: { code: 'NETWORK_ERROR' } })
  expect(next.message.status).toBe('sent')
  expect(count(SENDS)).toBeGreaterThanOrEqual(12)
})

test('a client whose requests are all reset loses no message, socket or not', async () => {
  const { chat, clock, network, count, room } = await live()
  network.isCut = true
  const sent = ['first', 'second'].map((text) => room.send({ text }))
  for (let minute = 0; minute < 10; minute++) {
    void chat.api.users.get({ userId: 'ana' }).catch(() => {})
    await clock.forward(60_000)
  }
  expect(count(SENDS)).toBeGreaterThan(15)
  expect(sent.map(({ message }) => message.status)).toEqual(['pending', 'pending'])
  network.isCut = false
  for (let second = 0; second < 60; second++) await clock.forward(1_000)
  expect(await Promise.all(sent.map((each) => each.sent))).toHaveLength(2)
})

test.each([400, 401, 403, 404, 413])(
  'a message that a proxy refuses with %i has failed at once, and the next one is sent',
  async (status) => {
    const { intercept, refuseRequests, room } = await live()
    intercept(SEND, () => page(status))
    const refused = room.send({ text: 'refused' })
    refused.sent.catch(() => refuseRequests())
    await room.send({ text: 'next' }).sent
    expect(refused.message).toMatchObject({ status: 'failed', error: { status } })
  },
)

test('a server that is away, or refuses work in general, loses no message', async () => {
  const { chat, clock, intercept, refuseRequests, network, cut, count, room } = await live()
  intercept(SEND, () => page(503))
  const out = room.send({ text: 'patient' })
  await clock.forward(600_000)
  expect(count(SEND)).toBeGreaterThan(15)
  intercept(SEND, () => page(502))
  network.refusesTokens = true
  cut({ isCut: false })
  await isOffline(chat)
  await clock.forward(600_000)
  expect(out.message.status).toBe('pending')
  refuseRequests()
  network.refusesTokens = false
  await clock.forward(120_000)
  expect(await out.sent).toMatchObject({ text: 'patient' })
})

test('a message waits for a gateway that is busy, whatever it calls its error', async () => {
  const { clock, intercept, refuseRequests, room } = await live()
  const busy = { error: { code: 'ServerBusy', message: 'The service is busy.' } }
  intercept(SEND, () => Response.json(busy, { status: 503 }))
  const out = room.send({ text: 'patient' })
  await clock.forward(60_000)
  expect(out.message).toMatchObject({ status: 'pending', waiting: { error: { status: 503 } } })
  refuseRequests()
  await clock.forward(60_000)
  expect(await out.sent).toMatchObject({ text: 'patient' })
})

test('a maintenance page whose Retry-After is a date gets one request until then', async () => {
  const { clock, intercept, count, room } = await live()
  intercept(SEND, () => page(503, { 'retry-after': 'Fri, 02 Jan 2026 00:00:30 GMT' }))
  room.send({ text: 'later' })
  await clock.forward(29_000)
  expect(count(SEND)).toBe(1)
  await clock.forward(5_000)
  expect(count(SEND)).toBeGreaterThan(1)
})

test('a pending message says why it waits, and until when', async () => {
  const { chat, clock, refuseRequests, hold, room } = await live()
  room.watch()
  await clock.forward(1)
  await until(room.messages, ready)
  const shown = () => room.messages.getSnapshot().items[0]
  refuseRequests(SEND, { status: 503, code: 'UNAVAILABLE' })
  const out = room.send({ text: 'wait' })
  expect(shown()?.waiting).toBeUndefined()
  await quiet()
  const { until: end, error } = shown()?.waiting ?? {}
  expect(error).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
  const pauseMs = Date.parse(end ?? '') - Date.now()
  expect(pauseMs).toBeGreaterThanOrEqual(249)
  expect(pauseMs).toBeLessThanOrEqual(500)
  expect(shown()).toBe(shown())
  const held = hold(SEND)
  await clock.forward(pauseMs + 1)
  await held.asked
  expect(shown()).toMatchObject({ status: 'pending', waiting: undefined })
  held.release()
  await quiet()
  expect(out.message.waiting).toBeDefined()
  chat.disconnect()
  expect(shown()).toMatchObject({ status: 'pending', waiting: undefined })
  refuseRequests()
  await chat.connect()
  await out.sent
  expect(shown()).toMatchObject({ status: 'sent' })
  expect(shown()?.waiting).toBeUndefined()
})
