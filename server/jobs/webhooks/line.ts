import type { WebhookDelivery } from '@parley/contract'

type Status = WebhookDelivery['status']

/** An unfinished delivery. Deliveries of a test have no topic. */
export type Candidate = {
  id: string
  /** The `webhook-id` header of its requests. */
  headerId: string
  topic: string | null
  offset: number | null
  eventType: string
  status: Exclude<Status, 'delivered' | 'failed'>
  attempts: number
  /** Exact to the microsecond. A call that asks to send it again changes this. */
  dueAt: string
  isDue: boolean
}

/** How many deliveries a webhook may send before others have their turn. */
const MOST_IN_TURN = 50

/**
 * Finds what may be sent now: groups that can be sent side by side, each in order. The events of a
 * topic are one group, in which a waiting delivery holds up those after it. A delivery that is
 * retried beside the line holds up nothing. Groups share the turn: a busy channel leaves room for
 * the others.
 */
export function groupsOf(candidates: Candidate[], most = MOST_IN_TURN): Candidate[][] {
  const retries = candidates.filter(({ status, isDue }) => status === 'retrying' && isDue)
  const lines = new Map<string, Candidate[]>()
  for (const candidate of candidates.filter(({ status }) => status === 'pending')) {
    const name = candidate.topic ?? candidate.id
    const line = lines.get(name) ?? []
    line.push(candidate)
    lines.set(name, line)
  }
  const groups = [...lines.values()].map((line) => untilOneWaits(line.sort(byOffset)))
  return firstOf([...retries.map((retry) => [retry]), ...groups], most)
}

/** The first of each group, as many of each as there is room for. */
function firstOf(groups: Candidate[][], most: number) {
  const ranked = groups.flatMap((group) => group.map((_, rank) => ({ group, rank })))
  const taken = ranked.toSorted((one, other) => one.rank - other.rank).slice(0, most)
  return groups
    .map((group) => group.slice(0, taken.filter((each) => each.group === group).length))
    .filter((group) => group.length > 0)
}

const byOffset = (a: Candidate, b: Candidate) => (a.offset ?? 0) - (b.offset ?? 0)

function untilOneWaits(line: Candidate[]) {
  const waiting = line.findIndex(({ isDue }) => !isDue)
  return waiting === -1 ? line : line.slice(0, waiting)
}

/** The pause after each failure, in units of a second. Then the delivery has failed. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800]
/** After how many failures of a delivery the later ones of its channel are sent without it. */
const HOLDING_ATTEMPTS = 4

type DeliveryFailure = { attempts: number; retryAfterSeconds: number; unitMs: number }
export type NextTry = { status: Exclude<Status, 'delivered'>; pauseMs: number }

/** The next state of a delivery after this many failures. Pauses are shortened at random. */
export function afterFailure({ attempts, retryAfterSeconds, unitMs }: DeliveryFailure): NextTry {
  const pause = PAUSES[attempts - 1]
  if (pause === undefined) return { status: 'failed', pauseMs: 0 }
  const pauseMs = pause * unitMs * (1 - Math.random() / 10)
  return {
    status: isPersistent(attempts) ? 'retrying' : 'pending',
    pauseMs: Math.max(pauseMs, retryAfterSeconds * 1_000),
  }
}
/** Whether this many failures are more than a passing problem. */
export const isPersistent = (attempts: number) => attempts >= HOLDING_ATTEMPTS
