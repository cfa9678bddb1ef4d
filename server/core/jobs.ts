import type { DeviceRow } from '../db/rows.ts'

/**
 * The jobs that a transaction can stage, by task: `ctx.enqueue` stores a job with the write, and a
 * worker (server/jobs) runs it after the commit. Every payload is stored with the app's id.
 */
export type Jobs = {
  /** Creates the link previews of a message. */
  preview: { messageId: string }
  /**
   * Pushes a new message to the channel's members, in the order of their ids, starting `after`; or
   * only to these users, whose pushes are tried again.
   */
  'push-message': { messageId: string; after?: string; userIds?: string[] }
  /** Pushes a reaction to the author of the message. */
  'push-reaction': { messageId: string; userId: string; emoji: string }
  /** Pushes to users that they were added to a channel. */
  'push-invite': { channelId: string; invitedBy: string; userIds: string[] }
  /** Copies a user's profile to the push provider. */
  subscriber: { userId: string }
  /** Removes a deleted user from the push provider, however long the provider is unavailable. */
  'subscriber-removal': { userId: string }
  /** Copies a user's device tokens of one kind to the push provider. */
  device: Pick<DeviceRow, 'userId' | 'provider'>
}
/** How often a job may fail because of a bug. */
export const MAX_ATTEMPTS = 5

export type Task = keyof Jobs
/** `trace`: of the call that staged it; with OpenTelemetry its span in the trace. */
export type Job<T extends Task = Task> = { appId: string; trace?: string } & Jobs[T]

/**
 * Staged jobs are stored by the transaction and moved to the queue after its commit. Jobs that this
 * server does not accept are never stored. `wake` is called after each commit that staged a job.
 */
export function createJobStaging(accepted: readonly Task[]) {
  const tasks = new Set<Task>(accepted)
  const listeners = new Set<() => void>()
  return {
    accepts: (task: Task) => tasks.has(task),
    wake: () => {
      for (const listener of listeners) listener()
    },
    onWake: (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
export type JobStaging = ReturnType<typeof createJobStaging>

/**
 * Only jobs that a worker will run: none with JOBS=off, no pushes without a push provider. The
 * removal of deleted users from the provider is always staged, and waits for a worker.
 */
export const acceptedTasks = ({ isOn, hasPush }: { isOn: boolean; hasPush: boolean }): Task[] => [
  ...(isOn ? (['preview'] as const) : []),
  ...(isOn && hasPush ? pushTasks : []),
  ...(hasPush ? (['subscriber-removal'] as const) : []),
]
const pushTasks = ['push-message', 'push-reaction', 'push-invite', 'subscriber', 'device'] as const
