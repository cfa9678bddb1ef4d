import { createReconciliation } from '@parley/server/realtime/reconcile'
import { createSchedule } from '@parley/server/realtime/schedule'
import { Sessions } from '@parley/server/realtime/sessions'
import { timings as defaults } from '@parley/server/realtime/timings'
import { onTestFinished, vi } from 'vitest'

/** Timers and the clock stand still but for this. */
export const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

type Given = {
  /** Writes the heartbeat of this node: by default at once, and no rows are lost. */
  beat?: () => Promise<boolean>
  onRemoval?: () => void
  /** Whether the database's clock was set before the last heartbeat. */
  hasClockStepped?: () => boolean
  /** Compares the topics, as a part of each reconciliation. */
  compareTopics?: () => Promise<unknown>
  use?: (work: (db: unknown) => unknown) => Promise<unknown>
  sessions?: Sessions
  onMissedEdits?: (milliseconds: number) => void
}
const nothing = async () => []

/** A node, whose presence work runs by the schedule that `createRealtime` gives it. */
export function openNode({
  beat = async () => false,
  onRemoval = () => {},
  hasClockStepped = () => false,
  compareTopics = nothing,
  use = nothing,
  sessions = new Sessions(),
  onMissedEdits = () => {},
}: Given = {}) {
  const presence = { hasLost: false, comparedAt: [] as number[], announcements: 0 }
  const repairs: unknown[] = []
  const reconciliation = createReconciliation({
    // The role may not end stuck sessions: nothing else depends on that.
    db: {
      use,
      useApart: async () => Promise.reject(new Error('permission denied')),
      longestMs: () => 0,
    },
    hub: { reconcile: compareTopics },
    sessions,
    presence: {
      beat,
      compareRows: beat,
      announceMissed: () => {
        presence.announcements += 1
      },
      removeDeadNodes: async () => onRemoval(),
      get hasClockStepped() {
        return hasClockStepped()
      },
    },
    knownPresence: {
      rowsWereThere: () => {},
      handleLostRows: () => {},
      handleMissedNotes: (milliseconds: number, nodeId?: string) =>
        void repairs.push({ changesOf: milliseconds, nodeId }),
      get hasLost() {
        return presence.hasLost
      },
      compare: async () => {
        presence.comparedAt.push(performance.now())
        presence.hasLost = false
        await new Promise((resolve) => setTimeout(resolve, 100))
      },
    },
    missedProfiles: { missed: () => {}, catchUp: nothing },
    missedCopies: { missed: onMissedEdits, catchUp: nothing },
    unread: {
      recheck: () => {},
      handleChanges: () => {},
      invalidateAll: () => repairs.push('counts'),
    },
    recheck: () => {},
    recheckFailed: () => repairs.push('rights'),
    report: () => {},
    timings: defaults,
  } as unknown as Parameters<typeof createReconciliation>[0]) // what it calls of them
  const schedule = createSchedule(() => {})
  schedule.every(defaults.beatMs, {
    work: async () => {
      await reconciliation.beat()
      void reconciliation.watchOthers()
    },
    problem: 'beat',
  })
  schedule.every(defaults.lookMs, { work: reconciliation.look, problem: 'look' })
  onTestFinished(schedule.stop)
  return { presence, repairs, ...reconciliation }
}
