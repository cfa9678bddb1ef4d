import { createLru } from '../core/lru.ts'
import { type QueuedTask, taskSettings } from './tasks.ts'

/** The highest priority that graphile-worker can store. */
export const LAST_ROUND = 32_767
/** Rounds for those with few jobs, when one app has waiting jobs in all rounds. */
const SPARE_ROUNDS = 1_000
/** How many apps are remembered, and for how long: another process may run their last job. */
const MOST_PARTIES = 10_000
const REMEMBERED_MS = 600_000

/** Whose jobs take turns with those of others: an app's, by their task. */
export type Party = { task: QueuedTask; appId: string }
export type PartyRound = Party & { round: number }
type QueueName = (typeof taskSettings)[QueuedTask]['queue']

/**
 * Fair queuing (start-time fair queuing): the jobs of a queue are run in rounds, which are their
 * priorities. An app has one job of a task in each round, from the one that is being run. So a job
 * waits for one job of each app, however many of another app came before it, and the removals of
 * deleted users do not delay the devices of the same app.
 */
export function createRounds() {
  const running = new Map<QueueName, number>()
  /** The round after the last job that is waiting. */
  const next = createLru<PartyRound>({ entries: MOST_PARTIES, ttl: REMEMBERED_MS })

  const keyOf = ({ task, appId }: Party) => `${task} ${appId}`
  const runningOf = (task: QueuedTask) => running.get(taskSettings[task].queue) ?? 0
  const nextOf = (party: Party) =>
    Math.max(runningOf(party.task), next.get(keyOf(party))?.round ?? 0)

  return {
    /** The round that is being run, which is the next one of those who have no waiting jobs. */
    runningOf,
    /** The next rounds of those with waiting jobs. Without any, the first round is run again. */
    ahead: () => {
      next.purgeStale()
      if (next.size === 0) running.clear()
      return [...next.values()].filter(({ task, round }) => round > runningOf(task))
    },
    /** Jobs have been enqueued, in the rounds before `round`. */
    enqueued: ({ round, ...party }: PartyRound) =>
      void next.set(keyOf(party), { ...party, round: Math.max(round, nextOf(party)) }),
    /** Takes the next round of an app. */
    take: (party: Party) => {
      const round = nextOf(party)
      next.set(keyOf(party), { ...party, round: round + 1 })
      return Math.min(round, LAST_ROUND)
    },
    /** A job of this round is run. */
    begin: ({ round, ...party }: PartyRound) => {
      const { queue } = taskSettings[party.task]
      if (next.get(keyOf(party))?.round === round + 1) next.delete(keyOf(party))
      running.set(
        queue,
        Math.min(Math.max(round, runningOf(party.task)), LAST_ROUND - SPARE_ROUNDS),
      )
    },
  }
}
export type Rounds = ReturnType<typeof createRounds>
