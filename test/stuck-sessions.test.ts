import { connectOnce } from '@parley/server/db/client'
import { createStuckSessions, FILE_CONNECTION } from '@parley/server/db/stuck-sessions'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { useDatabaseClock } from './support/database-clock.ts'
import { slowness } from './support/slowness.ts'
import { fallSilent, lockSilently, pauseSession } from './support/stuck-session.ts'
import { until } from './support/until.ts'
import { useWorld, type World } from './support/world.ts'

const never = 3_600_000
// Its heartbeats and comparisons, which would also find such a session, do not come.
const world = useWorld({ timings: { beatMs: never, comparePresenceMs: never } })

/** The time that docs/reliability.md promises. */
const HELD_MS = 2_500
/** The most machine time of the statements that end the session, measured in sends. */
const SENDS = 10
/** A send is refused after this time if the session is not ended. */
const REFUSED_MS = 4_000

/** How long the channel is locked from now on, as PostgreSQL sees it. */
async function lockedMs({ db }: World, channelId: string) {
  const [began] = await db<{ at: string }[]>`select clock_timestamp()::text as at`
  const freed = db<{ milliseconds: number }[]>`
    with freed as materialized (
      select
      from channels
      where id = ${channelId}
      for update
    )
    select 1000 * extract(epoch from clock_timestamp() - ${began?.at ?? ''}::timestamptz)::float8
      as milliseconds
    from freed`.then(([row]) => row?.milliseconds)
  return { freed }
}

test('a session whose client fell silent loses locks that others wait for in 2.5 s', async () => {
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const send = async () => {
    const began = performance.now()
    await ana.messages.send({ channelId, text: 'is not refused' })
    return performance.now() - began
  }
  await send()
  const usual = [await send(), await send()]
  await lockSilently(world(), channelId)
  const { freed } = await lockedMs(world(), channelId)
  usual.push(await send().then(send))
  const held = await freed
  const slackMs = SENDS * Math.max(...usual) * slowness
  expect(held).toBeLessThan(Math.min(HELD_MS + slackMs, REFUSED_MS))
  // Otherwise nothing was held.
  expect(held).toBeGreaterThan(1_000)
})

test('a command with a file, another program or service may wait: others are ended', async () => {
  const ana = await world().user('ana')
  const [exported, edited, locked] = [
    await ana.channels.create({ type: 'group', name: 'Exported' }),
    await ana.channels.create({ type: 'group', name: 'Edited by hand' }),
    await ana.channels.create({ type: 'group', name: 'Locked' }),
  ]
  const isCommandThere = await lockSilently(world(), exported.id, FILE_CONNECTION)
  const isServiceThere = await fallSilent(world(), 'select', 'parley-jobs/of_others')
  const isProgramThere = await lockSilently(world(), edited.id, 'psql')
  // A service of its own, whose sessions it looks after itself.
  const elsewhere = { db: world().db, databaseUrl: inject('databaseUrl') }
  const isSessionElsewhereThere = await fallSilent(elsewhere, 'select')
  const isOtherThere = await lockSilently(world(), locked.id)
  await ana.messages.send({ channelId: locked.id, text: 'waits until it is free' })
  expect(await isOtherThere()).toBe(false)
  expect([await isCommandThere(), await isProgramThere()]).toEqual([true, true])
  expect([await isServiceThere(), await isSessionElsewhereThere()]).toEqual([true, true])
})

test('a clock that is set forward ends no session that goes on', async () => {
  const clock = await useDatabaseClock(world())
  await clock.set('1 hour')
  const db = connectOnce(world().databaseUrl)
  onTestFinished(() => db.end())
  // It stands still, however slow the machine is.
  let nowMs = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => void vi.restoreAllMocks())
  const { isThere, goOn } = await pauseSession(world(), 'select')
  const stuckSessions = createStuckSessions()
  for (let count = 0; count < 3; count++) {
    // Two looks may follow each other at once.
    await stuckSessions.end(db)
    await stuckSessions.end(db)
    await goOn()
    nowMs += 400
  }
  expect(await isThere()).toBe(true)
  await stuckSessions.end(db)
  nowMs += 400
  await stuckSessions.end(db)
  vi.restoreAllMocks()
  await until(async () => !(await isThere()))
})
