import type { Channel } from '@parley/client'
import { PendingReads } from '@parley/client/internal/channels/pending-reads'
import { ThrottledReads } from '@parley/client/internal/room/throttled'
import { expect, test } from 'vitest'
import { ready, until } from '../support/chat.ts'
import { quiet } from '../support/scripted/index.ts'
import { listed } from '../support/scripted/listed.ts'
import { stoppedClock } from '../support/scripted/time.ts'

const READ = /^POST .*\/read$/
const channel = (fields: Partial<Channel>) => ({ id: 'c', unreadCount: 3, ...fields }) as Channel

test('a channel that is being read follows its record, without its unread count', () => {
  const reads = new PendingReads()
  const known = channel({ name: 'Talk' })
  expect(reads.show(known)).toBe(known)
  reads.begin('c')
  const shown = reads.show(known)
  expect(shown).toEqual({ ...known, unreadCount: 0 })
  expect(reads.show(known)).toBe(shown)
  reads.begin('c')
  expect(reads.show(known)).toBe(shown)
  expect(reads.show(channel({ name: 'New' }))).toMatchObject({ name: 'New', unreadCount: 0 })
  expect(reads.show(channel({ id: 'other' })).unreadCount).toBe(3)
  reads.end('c')
  expect(reads.show(known).unreadCount).toBe(0)
  reads.end('c')
  expect(reads.show(known)).toBe(known)
})

test('a channel stays shown as read until the last of several reads is answered', () => {
  const reads = new PendingReads()
  const known = channel({ name: 'Talk' })
  for (const _ of ['first', 'second', 'third']) reads.begin('c')
  const shown = reads.show(known)
  for (const _ of ['first', 'second']) {
    reads.end('c')
    expect(reads.show(known)).toBe(shown)
  }
  reads.end('c')
  expect(reads.show(known)).toBe(known)
  reads.end('c')
  reads.begin('c')
  expect(reads.show(known).unreadCount).toBe(0)
  reads.end('c')
  expect(reads.show(known)).toBe(known)
})

test('a read that another one has done meanwhile makes no call', async () => {
  const { chat, one, hold, count } = await listed()
  const room = chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  const clock = stoppedClock()
  one.send('not mine')
  await quiet()
  const held = hold(READ)
  const marked = [room.markRead()]
  await held.asked
  one.send('mine', { by: 'me' })
  await quiet()
  marked.push(room.markRead())
  held.release()
  await clock.forward(1_000)
  await Promise.all(marked)
  expect(count(READ)).toBe(1)
})

test('a channel is marked as read once in a while, by one call at a time', async () => {
  const clock = stoppedClock()
  const marked: unknown[] = []
  let answer = () => {}
  let isRead = false
  const reads = new ThrottledReads({
    isConnected: () => true,
    isRead: () => isRead,
    find: (id) => (id === undefined ? undefined : { id, seq: Number(id) }),
    mark: ({ messageId }) => {
      marked.push(messageId)
      return new Promise((resolve) => {
        answer = () => resolve({ unreadCount: 0 } as never) // it is not read
      })
    },
  })
  const mark = async (messageId: string) => {
    void reads.mark(messageId)
    await quiet()
    return marked.length
  }
  expect(await mark('1')).toBe(1)
  await mark('2')
  await clock.forward(60_000)
  expect(marked).toEqual(['1'])
  answer()
  await quiet()
  expect(marked).toEqual(['1', '2'])
  answer()
  expect(await mark('3')).toBe(2)
  await clock.forward(1_000)
  expect(marked).toEqual(['1', '2', '3'])
  isRead = true
  answer()
  await mark('4')
  await clock.forward(60_000)
  expect(marked).toHaveLength(3)
})

/** The room of a channel with an unread message, whose id is `one-0001`. */
async function opened() {
  const scene = await listed()
  const room = scene.chat.channel('one')
  room.watch()
  await until(room.messages, ready)
  const marked = () => scene.bodies.get('POST /api/channels/one/read')
  return { ...scene, room, marked, clock: stoppedClock() }
}

test('a read that a limit delays marks what was shown when it was made', async () => {
  const { chat, room, one, marked, intercept, refuseRequests, clock } = await opened()
  const limited = { error: { code: 'RATE_LIMITED', message: 'too many calls' } }
  intercept(READ, () => Response.json(limited, { status: 429, headers: { 'retry-after': '20' } }))
  const read = room.markRead()
  await clock.forward(1)
  one.send('unseen')
  refuseRequests()
  // The waiting read is tried at once.
  chat.wake()
  await clock.forward(25_000)
  await read
  expect(marked()).toEqual({ messageId: 'one-0001' })
  expect(one.reads.get('me')).toBe(1)
})

test('a read that waits for the one before it marks what was shown when it was made', async () => {
  const { room, one, hold, marked, count, clock } = await opened()
  const held = hold(READ)
  const reads = [room.markRead()]
  await held.asked
  one.send('seen')
  await quiet()
  reads.push(room.markRead())
  one.send('unseen')
  await quiet()
  held.release()
  await clock.forward(1_000)
  await Promise.all(reads)
  expect(count(READ)).toBe(2)
  expect(marked()).toEqual({ messageId: 'one-0002' })
})
