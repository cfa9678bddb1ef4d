import type { DeviceRow } from '../db/rows.ts'

/**
 * Work that a transaction can promise, by task: `ctx.enqueue` stores it with the write, a worker (server/jobs) carries
 * it out after the commit. Every payload is kept with the app's id.
 */
export type Jobs = {
  /** Makes the link previews of a message. */
  preview: { messageId: string }
  /** Tells members of a new message: in the order of their ids, those after this one. */
  'push-message': { messageId: string; after?: string }
  /** Tells the author of a message of a reaction. */
  'push-reaction': { messageId: string; userId: string; emoji: string }
  /** Tells users that somebody made them members of a channel. */
  'push-invite': { channelId: string; invitedBy: string; userIds: string[] }
  /** Brings a user's profile to the push provider, or takes a deleted one away. */
  subscriber: { userId: string }
  /** Brings a user's device tokens of one kind to the push provider. */
  device: Pick<DeviceRow, 'userId' | 'provider'>
}
export type Task = keyof Jobs
export type Job<T extends Task = Task> = { appId: string } & Jobs[T]

/** Which work is accepted here; what is not is never stored. Whoever moves it on is woken after each commit. */
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

/** Nothing is promised where nobody would do it: JOBS=off, or no push provider. */
export const acceptedTasks = ({ isOn, hasPush }: { isOn: boolean; hasPush: boolean }): Task[] => {
  if (!isOn) return []
  return hasPush
    ? ['preview', 'push-message', 'push-reaction', 'push-invite', 'subscriber', 'device']
    : ['preview']
}
