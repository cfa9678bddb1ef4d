import { CONTENDED } from '../core/operation.ts'
import { answerAll, settleBatch } from '../core/settle-batch.ts'
import { DeadlineError } from '../db/client.ts'

/**
 * Commands with the same `group` may share a transaction. Those with the same `resource` need the
 * same lock; a group has many resources.
 */
type GroupKeys = { group: string; resource: string }

/** How to run a batch: within which time, and whether it may wait for locks that others hold. */
type BatchRun = { until: number; mayWait: boolean }

type Entry<Command, Result> = {
  command: Command
  keys: GroupKeys
  until: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
type GroupCommitOptions<Command, Result> = {
  /** Runs the commands of one batch; one result per command, in order. */
  run: (commands: Command[], options: BatchRun) => Promise<(Result | typeof CONTENDED)[]>
  maxBatchSize: number
}

/**
 * A command with less time left is not run: the batch has the earliest deadline of its commands, so
 * this one would make the others fail as well.
 */
const LEAST_REMAINING_MS = 1_000

/**
 * Group commit: commands that arrive while others of their group are running wait, and then run as
 * one batch. An idle group adds no delay, and a busy one holds one connection however many commands
 * wait for it. A batch of a group never waits for locks: commands whose resource is locked by
 * others go to a queue of that resource, which does wait, and nobody else with them. Commands of
 * one resource run in the order in which they arrived.
 */
export function createGroupCommit<Command, Result>({
  run,
  maxBatchSize,
}: GroupCommitOptions<Command, Result>) {
  type BatchEntry = Entry<Command, Result>
  const groups = new Map<string, BatchEntry[]>()
  const resources = new Map<string, BatchEntry[]>()

  const enqueue = (entry: BatchEntry) => {
    const { group, resource } = entry.keys
    if (resources.has(resource)) enqueueIn(resources, resource, entry)
    else enqueueIn(groups, group, entry)
  }
  const enqueueIn = (queues: Map<string, BatchEntry[]>, key: string, entry: BatchEntry) => {
    const waiting = queues.get(key)
    if (waiting) {
      waiting.push(entry)
      return
    }
    const queue = [entry]
    queues.set(key, queue)
    void drain(queues, key, queue)
  }

  const drain = async (queues: typeof groups, key: string, queue: BatchEntry[]) => {
    const mayWait = queues === resources
    while (queue.length > 0) {
      const earliest = performance.now() + LEAST_REMAINING_MS
      const entries = queue.splice(0, maxBatchSize)
      const [ready, overtaken] = mayWait ? [entries, []] : splitByQueue(entries)
      for (const entry of overtaken) enqueueIn(resources, entry.keys.resource, entry)
      const expiring = ready.filter(({ until }) => until < earliest)
      for (const { reject } of expiring) reject(new DeadlineError())
      await runBatch(
        ready.filter(({ until }) => until >= earliest),
        mayWait,
      )
    }
    queues.delete(key)
  }
  /** Commands behind others that wait for their resource must not overtake them. */
  const splitByQueue = (entries: BatchEntry[]) => {
    const isQueued = ({ keys }: BatchEntry) => resources.has(keys.resource)
    return [entries.filter((entry) => !isQueued(entry)), entries.filter(isQueued)] as const
  }

  const runBatch = async (entries: BatchEntry[], mayWait: boolean): Promise<void> => {
    if (entries.length === 0) return
    const until = Math.min(...entries.map((entry) => entry.until))
    const commands = entries.map(({ command }) => command)
    const waiting = entries.map((entry) => ({
      reject: entry.reject,
      resolve: (result: Result | typeof CONTENDED) => {
        if (result === CONTENDED) enqueueIn(resources, entry.keys.resource, entry)
        else entry.resolve(result)
      },
    }))
    answerAll(waiting, await settleBatch(commands, (some) => run(some, { until, mayWait })))
  }

  return (keys: GroupKeys, command: Command, until: number) =>
    new Promise<Result>((resolve, reject) => enqueue({ command, keys, until, resolve, reject }))
}
