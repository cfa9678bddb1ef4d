import { answerAll, settleBatch } from '../core/settle-batch.ts'
import { DeadlineError } from '../db/client.ts'

type Entry<Command, Result> = {
  command: Command
  until: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
type GroupCommitOptions<Command, Result> = {
  /** Runs the commands of one batch; one result per command, in order. */
  run: (commands: Command[], until: number) => Promise<Result[]>
  maxBatchSize: number
}

/**
 * A command with less time left is not run: the batch has the earliest deadline of its commands, so
 * this one would make the others fail as well.
 */
const LEAST_REMAINING_MS = 1_000

/**
 * Group commit: commands that arrive while others with the same key are running wait, and then run
 * as one batch. An idle key adds no delay, a busy key holds one connection however many commands
 * wait for it, and keys do not wait for each other.
 */
export function createGroupCommit<Command, Result>({
  run,
  maxBatchSize,
}: GroupCommitOptions<Command, Result>) {
  const queues = new Map<string, Entry<Command, Result>[]>()

  const drain = async (key: string, queue: Entry<Command, Result>[]) => {
    while (queue.length > 0) {
      const earliest = Date.now() + LEAST_REMAINING_MS
      const entries = queue.splice(0, maxBatchSize)
      const expiring = entries.filter(({ until }) => until < earliest)
      for (const { reject } of expiring) reject(new DeadlineError())
      await runBatch(entries.filter(({ until }) => until >= earliest))
    }
    queues.delete(key)
  }
  const runBatch = async (entries: Entry<Command, Result>[]) => {
    if (entries.length === 0) return
    const until = Math.min(...entries.map((entry) => entry.until))
    const commands = entries.map(({ command }) => command)
    answerAll(entries, await settleBatch(commands, (commands) => run(commands, until)))
  }

  return (key: string, command: Command, until: number) =>
    new Promise<Result>((resolve, reject) => {
      const entry = { command, until, resolve, reject }
      const waiting = queues.get(key)
      if (waiting) {
        waiting.push(entry)
        return
      }
      const queue = [entry]
      queues.set(key, queue)
      void drain(key, queue)
    })
}
