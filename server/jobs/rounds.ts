import { createLru } from '../core/lru.ts'
import { type QueuedTask, type QueueName, taskSettings } from './tasks.ts'

/** The highest priority that graphile-worker can store. */
export const LAST_ROUND = 32_767
/** No job is taken to be in the last rounds: those of new parties come before what fills these. */
export const SPARE_ROUNDS = 1_000
/** How many parties are remembered, and for how long without a job. */
const MOST_PARTIES = 10_000
const REMEMBERED_MS = 600_000

/** Whose jobs take turns with those of others: one task of one app. */
type Party = { task: QueuedTask; appId: string }
/** The round of the next job of a party. */
export type PartyRound = Party & { round: number }
/** The round from which a queue runs jobs now; null if none waits. */
type QueueRound = { queue: QueueName; running: number | null }
/** What a drain has found waiting, and what it has enqueued. */
export type DrainedRounds = { running: QueueRound[]; next: PartyRound[] }

/**
 * Start-time fair queuing: the priority of a job is its round. Each party has one job in a round,
 * from the lowest one that waits in the queue. So a job waits for one job of each other party,
 * however many of another app came before it, and the removals of deleted users do not delay the
 * devices of the same app. Each process counts the rounds of the jobs that it has enqueued.
 */
export function createRounds() {
  const rounds = createLru<PartyRound>({ entries: MOST_PARTIES, ttl: REMEMBERED_MS })
  const keyOf = ({ task, appId }: Party) => `${task} ${appId}`
  const set = (party: PartyRound) => void rounds.set(keyOf(party), party)
  /** Forgets who would get the running round anyway. */
  const forgetBefore = ({ queue, running }: QueueRound) => {
    for (const party of [...rounds.values()]) {
      const isOfQueue = taskSettings[party.task].queue === queue
      const isBehind = running === null || party.round <= running
      if (isOfQueue && isBehind) rounds.delete(keyOf(party))
    }
  }
  return {
    /** The next rounds of those who may not have the running one. */
    ahead: () => [...rounds.values()],
    drained: ({ running, next }: DrainedRounds) => {
      for (const queue of running) forgetBefore(queue)
      for (const party of next) set(party)
    },
    /** Takes the next round of a party, of which a job is run in the round `running`. */
    take: (party: Party, running: number) => {
      const round = Math.max(running, rounds.get(keyOf(party))?.round ?? 0)
      set({ ...party, round: round + 1 })
      return Math.min(round, LAST_ROUND)
    },
  }
}
export type Rounds = ReturnType<typeof createRounds>
