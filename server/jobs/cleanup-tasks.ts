import { performance } from 'node:perf_hooks'
import type { EventPublisher } from '../core/event-bus.ts'
import type { JobStaging } from '../core/jobs.ts'
import { createAbandonedPurge } from './abandoned.ts'
import { createBatchSize } from './batch-size.ts'
import { createErasureOfDeleted } from './erase-deleted.ts'
import {
  type ErasureContext,
  type ErasurePositions,
  ROWS_EACH,
  STEP,
  STEP_MS,
} from './erasure-context.ts'
import { AT_ONCE, expireGivenUp } from './given-up.ts'
import { expireActiveUsers, expireAudit } from './operator-retention.ts'
import { createAppPurge } from './purge-apps.ts'
import { createChannelPurge } from './purge-channels.ts'
import { createMessageRetention } from './retained-messages.ts'
import {
  BATCH,
  createReadMarkThinning,
  expireDeliveries,
  expireEvents,
  expireInvites,
  expirePreviews,
  MARKS_AT_ONCE,
  nameAppsOfUses,
} from './retention.ts'
import { createTextRemoval } from './text-removals.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type CleanupTasks = ReturnType<typeof createCleanupTasks>
type TaskContext = Omit<ErasureContext, 'positions' | 'publisher' | 'waitsForLocks'>
type CleanupTask = {
  name: string
  most: number
  /** How long a step may take if others wait for it. */
  mostMs?: number
  run: (context: TaskContext) => Promise<void>
}

type TasksOptions = {
  publisher: EventPublisher
  positions: ErasurePositions
  /** After how many days channels and workspaces without members are deleted; 0: never. */
  purgeEmptyAfterDays: number
  /** After how many days entries of the audit log are deleted; 0: never. */
  auditRetentionDays: number
  staging: JobStaging | undefined
}

/** The tasks of a pass in their order, each with the size of its next batch. */
export function createCleanupTasks({
  publisher,
  staging,
  positions,
  purgeEmptyAfterDays,
  auditRetentionDays,
}: TasksOptions) {
  const eraseDeleted = createErasureOfDeleted()
  const purgeAbandoned = createAbandonedPurge(purgeEmptyAfterDays)
  const purgeChannels = createChannelPurge()
  const purgeApps = createAppPurge()
  const expireMessages = createMessageRetention()
  const thinReadMarks = createReadMarkThinning()
  const removeTexts = createTextRemoval()

  const expireEntries = async (context: TaskContext) => {
    if (auditRetentionDays > 0) await expireAudit(context, auditRetentionDays)
  }
  const tasks: CleanupTask[] = [
    { name: 'events', most: BATCH, run: expireEvents },
    { name: 'deliveries', most: BATCH, run: expireDeliveries },
    { name: 'invites', most: BATCH, run: expireInvites },
    { name: 'invite_uses', most: BATCH, run: nameAppsOfUses },
    { name: 'previews', most: BATCH, run: expirePreviews },
    { name: 'given_up_jobs', most: AT_ONCE, run: expireGivenUp },
    {
      name: 'texts',
      ...{ most: STEP * ROWS_EACH, mostMs: STEP_MS },
      run: (ctx) => removeTexts({ ...ctx, publisher }),
    },
    {
      name: 'users',
      ...{ most: STEP, mostMs: STEP_MS },
      run: (ctx) => eraseDeleted({ ...ctx, publisher, positions, waitsForLocks: false }),
    },
    { name: 'abandoned', most: BATCH, run: (ctx) => purgeAbandoned({ ...ctx, publisher }) },
    { name: 'channels', most: BATCH, run: (ctx) => purgeChannels({ ...ctx, publisher }) },
    { name: 'apps', most: BATCH, run: (ctx) => purgeApps({ ...ctx, publisher, staging }) },
    {
      name: 'messages',
      ...{ most: STEP, mostMs: STEP_MS },
      run: (ctx) => expireMessages({ ...ctx, publisher }),
    },
    { name: 'read_marks', most: MARKS_AT_ONCE, run: every(DAY_MS, thinReadMarks) },
    { name: 'active_users', most: BATCH, run: every(HOUR_MS, expireActiveUsers) },
    { name: 'audit', most: BATCH, run: every(HOUR_MS, expireEntries) },
  ]
  return tasks.map((task) => ({ ...task, batch: createBatchSize(task.most, task) }))
}

/** Runs the task again after an interval, or at once if it was interrupted. */
function every(intervalMs: number, run: CleanupTask['run']): CleanupTask['run'] {
  let ranAt = Number.NEGATIVE_INFINITY
  return async (context) => {
    if (performance.now() - ranAt < intervalMs) return
    await run(context)
    ranAt = performance.now()
  }
}
