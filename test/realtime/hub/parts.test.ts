import type { EphemeralEvent } from '@parley/server/core/event-bus'
import { DeadlineError } from '@parley/server/db/client'
import { coalesce } from '@parley/server/realtime/coalesce'
import { closings } from '@parley/server/realtime/protocol/codes'
import { json } from '@parley/server/realtime/protocol/json'
import { protobuf } from '@parley/server/realtime/protocol/protobuf'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { WriteBuffer } from '@parley/server/realtime/sockets/write-buffer'
import { TypingTracker } from '@parley/server/realtime/typing-tracker'
import { expect, test } from 'vitest'
import { upTo } from '../../support/events.ts'
import { appId, channelId, chat, pass, stopTimers } from './fixture.ts'

test('calls that arrive during a batch share the next ones, each with its own result', async () => {
  const batches: number[][] = []
  const double = coalesce<number, number>(
    async (items) => {
      batches.push(items)
      await new Promise(setImmediate)
      return items.map((item) => item * 2)
    },
    { maxBatch: 3 },
  )
  const first = [double(1), double(2)]
  await new Promise(setImmediate)
  const later = [3, 4, 5, 6].map(double)
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8, 10, 12])
  expect(batches).toEqual([[1, 2], [3, 4, 5], [6]])
  expect(await double(7)).toBe(14)
})

test('a batch that the database fails rejects its own calls and no others', async () => {
  let runs = 0
  const run = coalesce<number, number>(
    async (items) => {
      if (++runs === 1) throw new DeadlineError()
      return items
    },
    { maxBatch: 2 },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(run))
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})

/** A session that notes what it was closed with. */
function sessionOf(userId: string, app = appId) {
  const closed: string[] = []
  const session: Session = {
    appId: app,
    userId,
    generation: 0,
    topics: [],
    close: ({ reason }) => void closed.push(reason),
  }
  return { session, closed }
}

test('the last session of a user, and only that one, is reported as the last', () => {
  const sessions = new Sessions()
  const [first, second] = [sessionOf('ana').session, sessionOf('ana').session]
  const namesake = sessionOf('ana', channelId).session
  for (const each of [first, second, namesake]) sessions.add(each)
  expect(sessions.of({ appId, userId: 'ana' })).toEqual([first, second])
  expect(sessions.users()).toHaveLength(2)
  expect(sessions.ofApp(appId)).toEqual([first, second])
  expect(sessions.remove(first)).toBe(false)
  expect(sessions.remove(first)).toBe(false)
  expect(sessions.has(second)).toBe(true)
  expect(sessions.remove(second)).toBe(true)
  expect(sessions.remove(second)).toBe(false)
  expect([sessions.has(second), sessions.has(namesake)]).toEqual([false, true])
  expect(sessions.isEmpty).toBe(false)
})

test('a stopping node closes all sessions, spread over the time that it has', async () => {
  stopTimers()
  const sessions = new Sessions()
  const all = upTo(4).map((index) => sessionOf(`user${index % 2}`))
  for (const { session } of all) sessions.add(session)
  const drained = sessions.drain(400)
  const count = () => all.filter(({ closed }) => closed.length > 0).length
  const counts = []
  for (let step = 0; step < 4; step++) {
    await pass(step === 0 ? 0 : 100)
    counts.push(count())
  }
  await drained
  expect(counts).toEqual([1, 2, 3, 4])
  expect(all.map(({ closed }) => closed)).toEqual(all.map(() => [closings.shutdown.reason]))
})

const typing = (type: 'typing.start' | 'typing.stop', userId = 'ana'): EphemeralEvent => ({
  kind: 'event',
  topic: chat,
  type,
  payload: { channelId, userId, user: { id: userId, name: userId, image: null } },
})

test('typing stops by itself on its own node, and a second later on every other one', async () => {
  stopTimers()
  const stops: string[] = []
  const tracker = new TypingTracker((stop, { isOwn }) => {
    stops.push(`${stop.type} ${isOwn ? 'here' : 'elsewhere'}`)
    expect(tracker.track(stop, { isOwn })).toBe(true)
  }, 6_000)
  tracker.track(typing('typing.start'), { isOwn: true })
  tracker.track(typing('typing.start', 'ben'), { isOwn: false })
  await pass(5_000)
  tracker.track(typing('typing.start'), { isOwn: true })
  await pass(1_999)
  expect(stops).toEqual([])
  await pass(1)
  expect(stops).toEqual(['typing.stop elsewhere'])
  await pass(3_999)
  expect(stops).toHaveLength(1)
  await pass(1)
  expect(stops).toEqual(['typing.stop elsewhere', 'typing.stop here'])
  expect(tracker.track(typing('typing.stop'), { isOwn: true })).toBe(false)
  expect(tracker.track(typing('typing.stop', 'ben'), { isOwn: false })).toBe(false)
  tracker.track(typing('typing.start', 'ben'), { isOwn: false })
  await pass(6_999)
  expect(tracker.track(typing('typing.stop', 'ben'), { isOwn: false })).toBe(true)
  tracker.track(typing('typing.start'), { isOwn: true })
  tracker.stop()
  await pass(60_000)
  expect(stops).toHaveLength(2)
})

test('a node that missed a later start of typing does not end it', async () => {
  stopTimers()
  const sent: EphemeralEvent[] = []
  const openTracker = () => new TypingTracker((stop) => void sent.push(stop), 6_000)
  const [first, second, reader] = [openTracker(), openTracker(), openTracker()]
  const start = typing('typing.start')
  const remote = { isOwn: false }
  first.track(start, { isOwn: true })
  reader.track(start, remote)
  await pass(3_000)
  second.track(start, { isOwn: true })
  reader.track(start, remote)
  await pass(3_000)
  const [early] = sent
  if (!early) throw new Error('the first node announced no stop')
  expect([second, reader].map((node) => node.track(early, remote))).toEqual([false, false])
  await pass(3_000)
  const last = sent.at(-1)
  expect(sent).toHaveLength(2)
  expect(last && reader.track(last, remote)).toBe(true)
  // Their client says when they stop.
  reader.track(start, remote)
  expect(reader.track(typing('typing.stop'), remote)).toBe(true)
})

test('a user who types in two channels and stops in one still types in the other', () => {
  stopTimers()
  const tracker = new TypingTracker(() => {}, 6_000)
  const own = { isOwn: true }
  const elsewhere = `${chat}-2`
  tracker.track(typing('typing.start'), own)
  tracker.track({ ...typing('typing.start'), topic: elsewhere }, own)
  expect(tracker.track(typing('typing.stop'), own)).toBe(true)
  expect(tracker.track(typing('typing.stop'), own)).toBe(false)
  expect(tracker.track({ ...typing('typing.stop'), topic: elsewhere }, own)).toBe(true)
})

test('each socket is written its own messages, joined once a tick', async () => {
  const buffer = new WriteBuffer()
  const [a, b, c] = ['{"a":1}', '{"b":1}', '{"c":1}'].map((text) => Buffer.from(text))
  const written: string[] = []
  const socketOf = (...messages: (Buffer | undefined)[]) => ({
    flush: () =>
      void written.push(
        `${buffer.frame(
          json,
          messages.flatMap((message) => message ?? []),
        )}`,
      ),
  })
  buffer.add(socketOf(a, b))
  buffer.add(socketOf(a, b))
  buffer.add(socketOf(a, c))
  buffer.add(socketOf(a, b, c))
  buffer.add(socketOf(c))
  expect(written).toEqual([])
  await new Promise(setImmediate)
  expect(written).toEqual([
    '{"a":1}\n{"b":1}',
    '{"a":1}\n{"b":1}',
    '{"a":1}\n{"c":1}',
    '{"a":1}\n{"b":1}\n{"c":1}',
    '{"c":1}',
  ])
  const messages = [a, b].flatMap((message) => message ?? [])
  expect(buffer.frame(protobuf, messages).equals(buffer.frame(json, messages))).toBe(false)
})

test.each([json, protobuf])(
  'a push has an offset only if the event is durable ($encoding)',
  (codec) => {
    const envelope = '{"type":"x","payload":{"n":1}}'
    const publication = { type: 'message.new', envelope, messageId: null } as const
    const durable = codec.encodePush(chat, { ...publication, offset: 7 })
    const ephemeral = codec.encodePush(chat, { ...publication, offset: null })
    if (codec === json) {
      const push = (pub: object) => ({ push: { channel: chat, pub } })
      expect(JSON.parse(`${durable}`)).toEqual(push({ data: JSON.parse(envelope), offset: 7 }))
      expect(JSON.parse(`${ephemeral}`)).toEqual(push({ data: JSON.parse(envelope) }))
    } else {
      // The field of the offset: number 6, a varint.
      expect(durable.subarray(-2)).toEqual(Buffer.from([0x30, 7]))
      expect(durable.length - ephemeral.length).toBe(2)
    }
  },
)
