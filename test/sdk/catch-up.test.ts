import { type CallOptions, ChatError, type ChatEvent } from '@parley/client'
import { CatchUp } from '@parley/client/internal/realtime/catch-up'
import { createDeferred, withDeadline } from '@parley/client/internal/shared/timing'
import { expect, test } from 'vitest'
import { isOffline, ready, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const SYNC = /^POST \/api\/sync$/

test('a channel that a sync answer had no room for is asked for again', async () => {
  const { chat, channel, emit, hold, count } = scriptedChat()
  await chat.connect()
  const list = chat.channels()
  await until(list, ready)
  const added = channel('new')
  added.send('hello')
  const { lastMessage: _, ...record } = added.record()
  const before = count(SYNC)
  const sync = hold(SYNC)
  emit('channel.added', { channel: record })
  await sync.asked
  sync.release(Response.json({ channels: { new: { more: true, rev: 0 } }, more: true }))
  await until(list, ({ items }) => items[0]?.lastMessage?.text === 'hello')
  await quiet()
  expect(count(SYNC)).toBe(before + 2)
})

test('parts that a sync answer leaves out are loaded by calls of their own', async () => {
  const { chat, channel, hold, count } = scriptedChat()
  const talk = channel('c')
  talk.send('hello')
  await chat.connect()
  const room = chat.channel('c')
  const sync = hold(SYNC)
  room.watch()
  for (const store of [room.members, room.reads]) store.subscribe(() => {})
  await sync.asked
  sync.release(Response.json({ channels: { c: { removed: true } }, more: false }))
  const { items } = await until(room.messages, ready)
  expect(items.map(({ text }) => text)).toEqual(['hello'])
  await until(room.members, (members) => ready(members) && members.items.length === 2)
  await until(room.reads, ({ byUser: { ana } }) => ana?.lastReadSeq === 1)
  await quiet()
  const own = [/\/messages\?/, /\/members\?/, /\/read-status\?/].map(count)
  expect(own).toEqual([1, 1, 1])
})

test('read positions are paged by cursor: members who leave meanwhile hide no other', async () => {
  const { chat, channel, hold, requests } = scriptedChat()
  channel('c').send('hello')
  await chat.connect()
  const room = chat.channel('c')
  const held = [SYNC, /read-status\?limit=1000$/, /read-status\?.*cursor=next$/].map(hold)
  room.watch()
  room.reads.subscribe(() => {})
  const pages = [
    { channels: { c: { removed: true } }, more: false },
    { members: [{ userId: 'ana', lastReadSeq: 1 }], nextCursor: 'next' },
    { members: [{ userId: 'ben', lastReadSeq: 0 }], nextCursor: null },
  ]
  for (const [index, page] of pages.entries()) {
    await held[index]?.asked
    held[index]?.release(Response.json(page))
  }
  const { byUser } = await until(room.reads, ready)
  expect(Object.keys(byUser)).toEqual(['ana', 'ben'])
  expect(requests.filter((request) => /offset/.test(request))).toEqual([])
})

test('a room whose reload fails after a gap without its events shows nothing old', async () => {
  const { chat, channel, hold, cut, mend, loseEvents, intercept } = scriptedChat()
  const talk = channel('c')
  talk.send('old')
  const room = chat.channel('c')
  room.watch()
  await chat.connect()
  await until(room.messages, ready)
  cut()
  await isOffline(chat)
  loseEvents()
  const changes = { c: { rev: talk.rev, channel: talk.record(), resync: true } }
  intercept(SYNC, () => Response.json({ channels: changes, more: false }))
  const page = hold(/GET .*\/messages\?limit=50$/)
  mend()
  await page.asked
  expect(room.messages.getSnapshot()).toMatchObject({ status: 'stale', items: [{ text: 'old' }] })
  const error = { code: 'FORBIDDEN', message: 'not you' }
  page.release(Response.json({ error }, { status: 403 }))
  await until(room.messages, ({ status }) => status === 'failed')
  await quiet()
  expect(room.messages.getSnapshot()).toMatchObject({ status: 'failed', items: [] })
})

test('the client is live once it has what a list that was loaded asks for again', async () => {
  const { chat, channel, hold } = scriptedChat()
  const talk = channel('c')
  talk.send('hello')
  chat.channels().subscribe(() => {})
  const page = hold(/^GET .*channels\?/)
  const connected = chat.connect()
  await page.asked
  await quiet()
  const again = hold(SYNC)
  // Its last message is deleted by now: only the server knows the one before.
  const record = talk.record()
  const lastMessage = { ...talk.find('c-0001'), deletedAt: new Date(0).toISOString() }
  page.release(Response.json({ channels: [{ ...record, lastMessage }], settingsVersion: 0 }))
  await again.asked
  expect(chat.connection.getSnapshot().status).toBe('catching-up')
  again.release()
  await connected
})

type Pull = { channels: Record<string, number>; pages: string[]; total: boolean }
type Options = ConstructorParameters<typeof CatchUp>[0]

/** Catches up with a server that knows every channel; `pulls` are the calls. */
function catchUpToTest({ failsFrom = Number.POSITIVE_INFINITY } = {}) {
  const pulls: Pull[] = []
  const emitted: ChatEvent[] = []
  const gates: Promise<void>[] = []
  /** Holds the answer to the next call that is not held yet. */
  const hold = () => {
    const { promise, resolve } = createDeferred<void>()
    gates.push(promise)
    return resolve
  }
  const pull = (given: Pull, options: CallOptions) =>
    withDeadline(options, async () => {
      pulls.push(given)
      await (gates.shift() ?? quiet())
      if (pulls.length >= failsFrom) throw new ChatError('failed', { code: 'UNAVAILABLE' })
      const ids = Object.keys(given.channels)
      const channels = Object.fromEntries(ids.map((id) => [id, { rev: 9, messages: [] }]))
      return { channels, more: false, totalUnread: pulls.length }
    })
  const link = { isConnected: true, state: { getSnapshot: () => ({ status: 'live' }) } }
  const emitter = { emit: (event: ChatEvent) => emitted.push(event) }
  const presences: Options['presences'] = () => ({ share: (call) => call([]) })
  const options = { api: { sync: { pull } }, link, emitter, presences }
  const catchUp = new CatchUp(options as unknown as Options) // as far as it uses them
  return { pulls, emitted, hold, catchUp }
}
const apply = () => false

test('a sync pulls at most 200 channels, and the pages of 10', async () => {
  const { pulls, catchUp } = catchUpToTest()
  for (let index = 0; index < 201; index++)
    catchUp.request(`${index}`, { since: 1, apply, part: 'pages', id: `${index}` })
  await catchUp.run()
  expect(pulls.map(({ channels }) => Object.keys(channels).length)).toEqual([200, 1])
  expect(pulls.map(({ pages }) => pages.length)).toEqual([10, 1])
})

test('filled gaps are reported together, even before a call that fails', async () => {
  const { emitted, catchUp } = catchUpToTest({ failsFrom: 2 })
  const ids = Array.from({ length: 201 }, (_, index) => `${index}`)
  for (const id of ids) catchUp.request(id, { since: 1, apply: () => true })
  await expect(catchUp.run()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(emitted).toEqual([{ type: 'resync', channelIds: ids.slice(0, 200) }])
  const other = catchUpToTest()
  for (const id of ids) other.catchUp.request(id, { since: 1, apply: () => true })
  await other.catchUp.run()
  expect(other.emitted).toEqual([{ type: 'resync', channelIds: ids }])
})

test('requests for one channel are pulled once, since the earliest of their revs', async () => {
  const { pulls, catchUp } = catchUpToTest()
  const answered: (number | null)[] = []
  for (const since of [7, 4, null, 9])
    catchUp.request('a', { since, apply: () => Boolean(answered.push(since)) })
  catchUp.request('b', { since: null, apply })
  await catchUp.run()
  expect(pulls.map(({ channels }) => channels)).toEqual([{ a: 4, b: 2_147_483_647 }])
  expect(answered).toEqual([7, 4, null, 9])
})

test('a total that is asked for during a call is pulled by the next one', async () => {
  const { pulls, catchUp } = catchUpToTest()
  const totals: string[] = []
  catchUp.requestTotal(({ totalUnread }) => totals.push(`first ${totalUnread}`))
  const running = catchUp.run()
  catchUp.requestTotal(({ totalUnread }) => totals.push(`second ${totalUnread}`))
  await running
  expect(totals).toEqual(['first 1', 'second 2'])
  expect(pulls.map(({ total }) => total)).toEqual([true, true])
})

test('calls follow one another, even if the next one is asked for during a call', async () => {
  const { pulls, hold, catchUp } = catchUpToTest()
  const answerFirst = hold()
  catchUp.request('a', { since: 1, apply })
  const runs = [catchUp.run()]
  catchUp.request('b', { since: 2, apply })
  runs.push(catchUp.run())
  await quiet()
  expect(pulls.map(({ channels }) => channels)).toEqual([{ a: 1 }])
  answerFirst()
  await Promise.all(runs)
  expect(pulls.map(({ channels }) => channels)).toEqual([{ a: 1 }, { b: 2 }])
})

test('the end of a call of an earlier connection starts no second one beside another', async () => {
  const { pulls, hold, catchUp } = catchUpToTest()
  const [answerLost, answerCurrent] = [hold(), hold()]
  catchUp.request('a', { since: 1, apply })
  const before = catchUp.run()
  catchUp.hold()
  await expect(before).rejects.toMatchObject({ code: 'ABORTED' })
  catchUp.request('b', { since: 2, apply })
  const after = catchUp.run()
  answerLost()
  catchUp.request('c', { since: 3, apply })
  const last = catchUp.run()
  await quiet()
  expect(pulls.map(({ channels }) => channels)).toEqual([{ a: 1 }, { a: 1, b: 2 }])
  answerCurrent()
  await Promise.all([after, last])
  expect(pulls.at(-1)?.channels).toEqual({ c: 3 })
})

test('requests made without a connection wait for the next one', async () => {
  const clock = stoppedClock()
  const { pulls, catchUp } = catchUpToTest()
  await catchUp.run()
  catchUp.hold()
  catchUp.request('a', { since: 1, apply })
  await clock.forward(60_000)
  expect(pulls).toEqual([])
  await catchUp.run()
  expect(pulls).toHaveLength(1)
})

test('a request for a channel while its call fails goes with the next one', async () => {
  const { pulls, hold, catchUp } = catchUpToTest({ failsFrom: 1 })
  const fail = hold()
  catchUp.request('a', { since: 3, apply })
  const failed = catchUp.run()
  catchUp.request('a', { since: 1, apply })
  fail()
  await expect(failed).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await catchUp.run().catch(() => {})
  expect(pulls.map(({ channels }) => channels)).toEqual([{ a: 3 }, { a: 1 }])
  catchUp.hold()
})
