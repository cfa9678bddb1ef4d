import { getEventListeners } from 'node:events'
import { Recoveries } from '@parley/server/realtime/credit'
import type { RealtimeNode } from '@parley/server/realtime/node'
import { closings } from '@parley/server/realtime/protocol/codes'
import type { Session } from '@parley/server/realtime/sessions'
import { timings } from '@parley/server/realtime/timings'
import { subscribeToTopic } from '@parley/server/realtime/trpc/subscription'
import { expect, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { anyEvent, appId, chat, openHub, stopTimers } from './fixture.ts'

type Options = Omit<Parameters<typeof subscribeToTopic>[1], 'token' | 'topic'>

/** A subscription of ana's to a channel, and the session that the node knows it by. */
async function open({
  generation = 0,
  ...options
}: Partial<Omit<Options, 'onRecovered' | 'recoveries'>> & { generation?: number }) {
  const { hub, memory } = await openHub()
  const sessions = new Set<Session>()
  const loaded: string[] = []
  const claims = { appId, userId: 'ana', generation: 0, expiresAt: Date.now() / 1_000 + 60 }
  const node = {
    hub,
    timings,
    tokens: { verify: async () => claims },
    register: async (session: Session) => {
      sessions.add(session)
      return generation
    },
    unregister: (session: Session) => void sessions.delete(session),
    subscribed: (_: Session, topic: string) => void loaded.push(topic),
  } as unknown as RealtimeNode // as much of a node as a subscription uses
  const recoveries = new Recoveries()
  const given = { token: '', topic: chat, signal: undefined, recoveries, onRecovered: () => {} }
  const items = subscribeToTopic(node, { ...given, ...options })
  return { hub, memory, sessions, loaded, items }
}

/** Reads until the subscription ends: the offsets, and the code that it ended with. */
async function readAll(items: AsyncGenerator<{ offset: number }>) {
  const offsets: number[] = []
  try {
    for await (const { offset } of items) offsets.push(offset)
    return { offsets, code: undefined }
  } catch (error) {
    return { offsets, code: (error as { code: string }).code } // an ApiError
  }
}

test('a tRPC consumer that stops reading keeps 2,001 events at most, and is ended', async () => {
  const { hub, memory, sessions, items } = await open({ since: 0 })
  memory.append(chat)
  expect(await items.next()).toMatchObject({ value: { offset: 1 } })
  const second = items.next()
  await new Promise(setImmediate)
  hub.publish([memory.append(chat)])
  await second
  hub.publish(memory.appendSeveral(chat, 2_000))
  expect(sessions.size).toBe(1)
  hub.publish(memory.appendSeveral(chat, 3_000))
  expect(await readAll(items)).toEqual({ offsets: upTo(2_003, 3), code: 'UNAVAILABLE' })
  expect(sessions.size).toBe(0)
})

test.each([
  ['its tokens are revoked', closings.forced, 'INVALID_TOKEN'],
  ['its token has expired', closings.expired, 'INVALID_TOKEN'],
  ['the server stops', closings.shutdown, 'UNAVAILABLE'],
])('a tRPC subscription ends when %s, after what it was sent', async (_, closing, code) => {
  const { hub, memory, sessions, items } = await open({ since: 0 })
  memory.append(chat)
  await items.next()
  const second = items.next()
  await new Promise(setImmediate)
  hub.publish(memory.appendSeveral(chat, 3))
  await second
  for (const session of sessions) session.close(closing)
  hub.publish(memory.appendSeveral(chat, 3))
  expect(await readAll(items)).toEqual({ offsets: [3, 4], code })
  expect(sessions.size).toBe(0)
})

test('a tRPC subscription with a token of a revoked generation receives nothing', async () => {
  const { sessions, items } = await open({ generation: 1 })
  expect(await readAll(items)).toEqual({ offsets: [], code: 'INVALID_TOKEN' })
  expect(sessions.size).toBe(0)
})

test('a tRPC subscription that reconnects continues from its last event id', async () => {
  const { memory, items } = await open({ since: 0, lastEventId: '3' })
  memory.appendSeveral(chat, 5)
  const received = [await items.next(), await items.next()]
  expect(received.map(({ value }) => value.offset)).toEqual([4, 5])
})

test('an aborted tRPC subscription leaves its topic and its session', async () => {
  const abort = new AbortController()
  const { memory, sessions, items } = await open({ since: 0, signal: abort.signal })
  memory.append(chat)
  await items.next()
  const waiting = readAll(items)
  abort.abort()
  expect(await waiting).toEqual({ offsets: [], code: 'UNAVAILABLE' })
  expect(sessions.size).toBe(0)
})

test('an ephemeral event after a recovery has the offset of the last durable one', async () => {
  const { hub, memory, items } = await open({ since: 0 })
  memory.appendSeveral(chat, 2)
  const received = [await items.next(), await items.next()]
  const next = items.next()
  await new Promise(setImmediate)
  hub.broadcast([chat], anyEvent)
  received.push(await next)
  expect(received.map(({ value }) => value.offset)).toEqual([1, 2, 2])
})

test('a waiting subscription is known to be void once its client has left', async () => {
  const left = new AbortController()
  const { memory, items } = await open({ signal: left.signal })
  const answer = memory.hold()
  const end = items.next().catch((error) => error)
  await vi.waitUntil(() => memory.isGone)
  expect(memory.isGone?.()).toBe(false)
  left.abort()
  expect(memory.isGone?.()).toBe(true)
  answer()
  await end
})

test('a tRPC subscription that is over leaves no timer, listener or subscription', async () => {
  const clock = stopTimers()
  const { signal } = new AbortController()
  const { hub, memory, loaded, items } = await open({ since: 0, signal })
  memory.append(chat)
  await items.next()
  expect([loaded, clock.timers(), hub.topics.get(chat)?.isEmpty]).toEqual([[chat], 1, false])
  await items.return(undefined)
  expect([clock.timers(), hub.topics.get(chat)?.isEmpty]).toEqual([0, true])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a tRPC subscription since the beginning is refused if that is not kept', async () => {
  const { memory, items } = await open({ since: 0 })
  memory.appendSeveral(chat, 3)
  memory.forget(chat, 1)
  expect(await readAll(items)).toEqual({ offsets: [], code: 'VALIDATION_ERROR' })
})

test('a tRPC subscription that missed events that are no longer kept may begin again', async () => {
  const { hub, memory, items } = await open({ since: 0 })
  memory.append(chat)
  await items.next()
  const rest = readAll(items)
  await new Promise(setImmediate)
  memory.appendSeveral(chat, 3)
  memory.forget(chat, 3)
  hub.handleHint(chat, 4)
  expect(await rest).toEqual({ offsets: [], code: 'UNAVAILABLE' })
})

test('an ephemeral event has the offset of the durable one that came live before it', async () => {
  const { hub, memory, items } = await open({})
  const first = items.next()
  await new Promise(setImmediate)
  hub.publish([memory.append(chat)])
  hub.broadcast([chat], anyEvent)
  const received = [await first, await items.next()]
  expect(received.map(({ value }) => value.offset)).toEqual([1, 1])
})
