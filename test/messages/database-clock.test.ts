import type { Tx } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { useDatabaseClock } from '../support/database-clock.ts'
import { whileRowLocked } from '../support/locks.ts'
import { unhurried, until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'

const world = useWorld()

const isInsertWaiting = async () => {
  const waiting = await world().db`
    select
    from pg_stat_activity
    where datname = current_database()
      and wait_event = 'relation'
      and query like '%insert into messages%'`
  return waiting.length > 0
}

test('no message is older than one that was stored as the clock was set back', async () => {
  const clock = await useDatabaseClock(world())
  await clock.set('1 hour')
  const node = await createWorld({ databaseUrl: world().databaseUrl, patience: unhurried })
  onTestFinished(() => node.stop())
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { messages } = node.api({ token: ana.token })
  const lockMessages = (sql: Tx) => sql`lock table messages in share mode`
  const first = await whileRowLocked(world(), lockMessages, async () => {
    const sent = messages.send({ channelId, text: 'before' })
    await until(isInsertWaiting)
    await clock.set('0 s')
    return { sent }
  })
  const before = await first.sent
  const after = await messages.send({ channelId, text: 'after' })
  expect(Date.parse(before.createdAt)).toBeGreaterThan(Date.now() + 1_800_000)
  expect(Date.parse(after.createdAt)).toBeGreaterThanOrEqual(Date.parse(before.createdAt))
})
