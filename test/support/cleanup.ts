import { createEventBus } from '@parley/server/core/event-bus'
import { acceptedTasks, createJobStaging } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createDb, type Patience } from '@parley/server/db/client'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { expect, inject, onTestFinished, vi } from 'vitest'
import { channelEventsOf, upTo } from './events.ts'
import { noteStatement } from './sql/sent.ts'
import { patient, unhurried, until } from './until.ts'
import type { World } from './world.ts'

type Elsewhere = {
  passMs?: number
  purgeEmptyAfterDays?: number
  auditRetentionDays?: number
  patience?: Patience
  mayFail?: boolean
  /** Stages jobs for the push provider, which no worker runs. */
  hasPush?: boolean
}

/** The cleanup of a second node on the same database. */
export function cleanupElsewhere(
  { databaseUrl }: Pick<World, 'databaseUrl'>,
  { patience = unhurried, mayFail = false, hasPush = false, ...timings }: Elsewhere = {},
) {
  let passes = 0
  const db = createDb({
    url: databaseUrl,
    poolSize: 4,
    applicationName: 'parley-test-elsewhere',
    onStatement: (statement) => {
      noteStatement(inject('statements'), statement)
      // The last statement of a pass. One that finds the lock taken does not get there.
      if (statement.includes('pg_advisory_unlock')) passes += 1
    },
    patience,
  })
  const metrics = createMetrics()
  const errors: unknown[] = []
  const cleanup = createCleanup({
    db,
    publisher: createEventBus().publisher,
    ...(hasPush && { staging: createJobStaging(acceptedTasks({ isOn: true, hasPush })) }),
    metrics,
    onError: (error) => errors.push(error),
    ...timings,
  })
  onTestFinished(async () => {
    await cleanup.stop()
    await db.end({ timeout: 1 })
    if (!mayFail) expect(errors).toEqual([])
  })
  const failedTasks = async () => {
    const { values } = await metrics.cleanupFailures.get()
    const failed = values.filter(({ value }) => value > 0)
    return Object.fromEntries(failed.map(({ labels, value }) => [labels.task, value]))
  }
  /** Runs a whole pass, after the one that another node may be running. */
  const pass = () =>
    until(async () => {
      const before = passes
      await cleanup.run()
      return passes > before
    })
  return { ...cleanup, pass, failedTasks, errors }
}

/** Waits until all deleted users are erased, by whichever node. */
export const erased = ({ cleanup, db }: World) =>
  vi.waitFor(async () => {
    await cleanup.run()
    const waiting = await db`
      select id
      from users
      where deleted_at is not null
        and forgotten_at is null`
    expect(waiting).toEqual([])
  }, patient)

type Counts = { rev: number; memberCount: number; members: number }

/** Expects that the channel's events have every rev, and that its counter equals its members. */
export async function expectCompleteHistory(world: World, channelId: string) {
  const events = await channelEventsOf(world, channelId)
  const [channel] = await world.db<Counts[]>`
    select c.rev, c.member_count,
      (select count(*)::int from members m where m.channel_id = c.id) as members
    from channels c
    where c.id = ${channelId}`
  expect(events.map(({ offset }) => offset)).toEqual(upTo(channel?.rev ?? -1))
  expect(channel?.memberCount).toBe(channel?.members)
  return events
}
