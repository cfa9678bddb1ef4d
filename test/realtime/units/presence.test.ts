import { userKey } from '@parley/server/core/user-ref'
import type { Db } from '@parley/server/db/client'
import { PresenceTracker } from '@parley/server/realtime/presence/index'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { expect, test } from 'vitest'
import { stoppedClock } from '../../support/scripted/time.ts'
import { ana } from './fixture.ts'

const GRACE_MS = 10_000

/** The presence of a node whose writes are counted, and done at once unless they are answered. */
async function openPresence(answers: ((() => unknown) | undefined)[] = []) {
  const clock = stoppedClock()
  const sessions = new Sessions()
  let writes = 0
  const use = async () => {
    writes += 1
    const answer = answers.shift()
    if (answer) return answer()
    return { changed: [], written: new Set([userKey(ana)]) }
  }
  const tracker = new PresenceTracker({
    db: { use } as unknown as Db, // what it calls of it
    nodeId: 'node',
    sessions,
    graceMs: GRACE_MS,
    deadAfterMs: 60_000,
    beatPatienceMs: 1_000,
    onChange: () => {},
    report: () => {},
  })
  const session = ana as Session // nothing else of it is used
  const connect = async () => {
    sessions.add(session)
    await tracker.userConnected(ana)
  }
  const leave = () => {
    sessions.remove(session)
    tracker.userDisconnected(ana)
  }
  await connect()
  return { clock, tracker, sessions, session, connect, leave, writes: () => writes }
}

test('a short return within the grace does not shorten the next grace', async () => {
  const { clock, connect, leave, writes } = await openPresence()
  leave()
  await clock.forward(GRACE_MS - 1_000)
  await connect()
  leave()
  await clock.forward(GRACE_MS - 1_000)
  expect(writes()).toBe(1)
  await clock.forward(1_000)
  expect(writes()).toBe(2)
})

test('a user who returns as their grace ends stays online while they are let in', async () => {
  const { clock, sessions, session, connect, leave, writes } = await openPresence()
  leave()
  sessions.add(session)
  await clock.forward(GRACE_MS)
  expect(writes()).toBe(1)
  await connect()
  expect([writes(), clock.timers()]).toEqual([1, 0])
})

test('a return that was refused starts the whole grace again', async () => {
  const { clock, tracker, leave, writes } = await openPresence()
  leave()
  await clock.forward(GRACE_MS - 1_000)
  tracker.userDisconnected(ana)
  await clock.forward(GRACE_MS - 1_000)
  expect([writes(), clock.timers()]).toEqual([1, 1])
})

test('a node that stops leaves announcing who just left to the others', async () => {
  const { clock, tracker, leave, writes } = await openPresence()
  leave()
  await tracker.stop()
  await clock.forward(GRACE_MS)
  // The second write ends its heartbeat.
  expect([writes(), clock.timers()]).toEqual([2, 0])
})

test.each([
  ['is still there', [ana]],
  ['is gone, but no one was notified', []],
])(
  'a departure whose write failed is written again by a comparison if its row %s',
  async (_, rows) => {
    const fail = () => {
      throw new Error('lost')
    }
    const { clock, tracker, leave, writes } = await openPresence([undefined, fail, () => rows])
    leave()
    await clock.forward(GRACE_MS)
    const before = writes()
    await tracker.compareRows()
    expect(writes() - before).toBe(2)
  },
)

test('lost rows are announced although another write of the comparison failed', async () => {
  const ben = { ...ana, userId: 'ben' }
  const fail = () => {
    throw new Error('locked')
  }
  // The row of ana is missing and restored; that of ben, who has left, is locked.
  const { tracker } = await openPresence([undefined, () => [ben], undefined, fail, () => [ana]])
  await expect(tracker.compareRows()).rejects.toThrow('locked')
  expect(await tracker.compareRows()).toBe(true)
})
