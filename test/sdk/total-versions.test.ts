import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLive, isOffline, ready, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'

/** The total of unread messages, in events and answers that arrive in any order. */

const LIST = /GET \/api\/channels\?/
const READ = /POST .*\/read$/
const TYPES = ['messaging', 'group', 'team', 'livestream'] as const

type Total = { count: number; version?: number }
const step = fc.record({
  what: fc.constantFrom('change', 'change', 'emit', 'ask', 'answer'),
  pick: fc.nat(99),
})

/** Loads another list, whose answer brings the total of this moment, once it is released. */
async function ask({ chat, data, hold }: ScriptedChat, type: (typeof TYPES)[number]) {
  const { asked, release } = hold(LIST)
  chat.channels({ type }).subscribe(() => {})
  await asked
  return { release, count: data.total, version: data.snapshot }
}

test('the total is the newest that came, whatever is late, and right in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 40 }), async (steps) => {
      const scripted = scriptedChat()
      const { chat, data, emit } = scripted
      await chat.connect()
      await quiet()
      let newest: Total & { version: number } = { count: data.total, version: data.snapshot }
      const types = [...TYPES]
      const answers: Awaited<ReturnType<typeof ask>>[] = []
      const events: (typeof newest)[] = []
      const arrive = async (total: typeof newest) => {
        if (total.version >= newest.version) newest = total
        await quiet()
        expect(chat.unread.getSnapshot().total).toBe(newest.count)
      }
      const emitNext = async () => {
        const event = events.shift()
        if (!event) return
        emit('channel.total_unread_changed', event)
        await arrive(event)
      }
      const answerOne = async (pick: number) => {
        const [answer] = answers.splice(pick % (answers.length || 1), 1)
        answer?.release()
        if (answer) await arrive(answer)
      }
      for (const { what, pick } of steps) {
        if (what === 'change') {
          data.total = pick
          data.snapshot += 1
          events.push({ count: pick, version: data.snapshot })
        }
        if (what === 'emit') await emitNext()
        const type = what === 'ask' && types.pop()
        if (type) answers.push(await ask(scripted, type))
        if (what === 'answer') await answerOne(pick)
      }
      while (answers.length > 0) await answerOne(answers.length - 1)
      while (events.length > 0) await emitNext()
      expect(chat.unread.getSnapshot().total).toBe(data.total)
      chat.disconnect()
    }),
    { numRuns: 60 },
  )
})

/** A list with three unread messages in its channel `one`, of five in all, and what is shown. */
async function unreadRoom() {
  const scripted = await listed()
  const { chat, list, emit, emitUnread } = scripted
  const room = chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  emitUnread('one', 3)
  emit('channel.total_unread_changed', { count: 5 })
  await until(list, ({ totalUnread }) => totalUnread === 5)
  const totals: number[] = []
  chat.unread.subscribe(() => void totals.push(chat.unread.getSnapshot().total))
  return { ...scripted, room, totals }
}

test.each([
  ['count', 'total', 'answer'],
  ['count', 'answer', 'total'],
  ['answer', 'count', 'total'],
])('a read does not make the total jump if it arrives by %s, %s and %s', async (...order) => {
  const { room, hold, emit, emitUnread, totals } = await unreadRoom()
  const held = hold(READ)
  const marked = room.markRead()
  await held.asked
  for (const what of order) {
    if (what === 'count') emitUnread('one', 0)
    if (what === 'total') emit('channel.total_unread_changed', { count: 2 })
    if (what === 'answer') held.release()
    await quiet()
  }
  await marked
  expect(new Set(totals)).toEqual(new Set([2]))
})

/** An answer with a total, and without channels. */
const answerWith = (total: object) => Response.json({ channels: [], settingsVersion: 0, ...total })

test('a count that a newer total had already is not counted twice for long', async () => {
  const scripted = await unreadRoom()
  const { chat, emit, emitUnread, totals } = scripted
  const { release } = await ask(scripted, 'team')
  release(answerWith({ totalUnread: 6, totalUnreadVersion: 1_000 }))
  await until(chat.unread, ({ total }) => total === 6)
  emitUnread('one', 4)
  emit('channel.total_unread_changed', { count: 6, version: 999 })
  await quiet()
  expect(totals.at(-1)).toBe(6)
})

test('totals of a server of an earlier version are taken as they come', async () => {
  const scripted = await unreadRoom()
  const { chat, emit } = scripted
  const { release } = await ask(scripted, 'team')
  emit('channel.total_unread_changed', { count: 8, version: undefined })
  await until(chat.unread, ({ total }) => total === 8)
  release(answerWith({ totalUnread: 6 }))
  await until(chat.unread, ({ total }) => total === 6)
  // A total with a version counts, as after a release, whatever was known before.
  emit('channel.total_unread_changed', { count: 4, version: 1 })
  await until(chat.unread, ({ total }) => total === 4)
})

test('after an outage lower versions count, as of a database that was moved', async () => {
  const { chat, data, cut, mend, emit } = await unreadRoom()
  emit('channel.total_unread_changed', { count: 9, version: 1_000_000 })
  await until(chat.unread, ({ total }) => total === 9)
  cut()
  await isOffline(chat)
  data.total = 2
  data.snapshot = 0
  mend()
  chat.wake()
  await isLive(chat)
  await until(chat.unread, ({ total }) => total === 2)
  emit('channel.total_unread_changed', { count: 1 })
  await until(chat.unread, ({ total }) => total === 1)
})
