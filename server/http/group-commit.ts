import { CONTENDED } from '../core/operation.ts'
import { answerAll, settleBatch } from '../core/settle-batch.ts'
import { activeSpan, continueSpan, type Span } from '../core/spans.ts'
import { DeadlineError } from '../db/client.ts'
import { CommandQueue } from './command-queue.ts'
import type { CommandSequence } from './command-sequence.ts'
import { type Amount, createWaitingRoom } from './waiting-room.ts'

/**
 * Commands with the same `group` may share a transaction. Commands with the same `resource` need
 * the same lock; a group has many resources. Commands of one `sequence` keep their order even when
 * one is refused.
 */
type GroupKeys = { group: string; resource: string; sequence?: CommandSequence | undefined }

/** The deadline of a batch, and whether it may wait for locks that others hold. */
type BatchRun = { until: number; waitsForLocks: boolean }

type Entry<Command, Result> = {
  command: Command
  bytes: number
  keys: GroupKeys
  until: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
  span: Span | undefined
}
type GroupCommitOptions<Command, Result> = {
  /** Runs the commands of one batch; one result per command, in order. */
  run: (commands: Command[], options: BatchRun) => Promise<(Result | typeof CONTENDED)[]>
  /** About how large a command is. */
  bytesOf: (command: Command) => number
  /** The most commands, and bytes, of a batch. A larger command gets a batch to itself. */
  batch: Amount
  /** How many batches of a group may run at once. Each beyond the first must be full. */
  batchesAtOnce?: number | undefined
  /** The most commands of a group that may wait or run, and their bytes. */
  waiting: Amount
  /** Called when a command finds no room to wait. */
  onRefused: () => void
}

/**
 * A command with less time left is not run: the batch has the earliest deadline of its commands, so
 * this one would make the others fail as well.
 */
const LEAST_REMAINING_MS = 1_000

/**
 * Group commit: commands that arrive while others of their group are running wait, and then run as
 * one batch. An idle group adds no delay, and a busy one holds one connection. With more
 * `batchesAtOnce` it holds another one while a whole batch waits: one that is not full would cost
 * as much and carry less. A batch of a group never waits for locks: commands whose resource is
 * locked by others go to a queue of that resource, which does wait, and no others wait with them.
 * Commands of one resource run in the order in which they arrived, and the resources of a group
 * take turns. A command that finds no room to wait is refused.
 */
export function createGroupCommit<Command, Result>({
  run,
  bytesOf,
  batch,
  batchesAtOnce = 1,
  waiting,
  onRefused,
}: GroupCommitOptions<Command, Result>) {
  type BatchEntry = Entry<Command, Result>
  type Queue = { commands: CommandQueue<BatchEntry>; running: number }
  type Queues = Map<string, Queue>
  const groups: Queues = new Map()
  const resources: Queues = new Map()
  const room = createWaitingRoom(waiting, onRefused)

  const enqueue = (entry: BatchEntry) => {
    const { group, resource } = entry.keys
    if (resources.has(resource)) enqueueIn(resources, resource, entry)
    else enqueueIn(groups, group, entry)
  }
  const enqueueIn = (queues: Queues, key: string, entry: BatchEntry) => {
    const queue = queues.get(key) ?? { commands: new CommandQueue<BatchEntry>(), running: 0 }
    queues.set(key, queue)
    queue.commands.add(entry)
    if (queue.running < batchesAtOnce && isDue(queue)) void drain(queues, key, queue)
  }
  const isDue = ({ commands, running }: Queue) =>
    commands.ready >= (running === 0 ? 1 : batch.commands)

  const drain = async (queues: Queues, key: string, queue: Queue) => {
    const waitsForLocks = queues === resources
    const { commands } = queue
    while (isDue(queue)) {
      queue.running += 1
      const taken = commands.takeBatch(batch)
      const entries = refuseExpiring(refuseBehind(taken))
      await runBatch(entries, {
        // Its spans appear in the trace of the first command.
        run: (commands, until) =>
          continueSpan(entries[0]?.span, () => run(commands, { until, waitsForLocks })),
        onContended: waitForLocks,
      })
      commands.release(taken)
      queue.running -= 1
    }
    if (queue.running === 0) queues.delete(key)
  }
  /** Moves commands to the queues of their resources, with those that arrived behind them. */
  const waitForLocks = (contended: BatchEntry[]) => {
    for (const entry of contended) enqueueIn(resources, entry.keys.resource, entry)
    for (const { keys } of contended) {
      const behind = groups.get(keys.group)?.commands.takeAllOf(keys.resource) ?? []
      for (const entry of behind) enqueueIn(resources, keys.resource, entry)
    }
  }

  /** Enters a command. If there is no room, the later commands of its sequence are refused, too. */
  const enter = (keys: GroupKeys, bytes: number) => {
    const { sequence } = keys
    if (sequence?.refusal) throw sequence.refusal
    try {
      return room.enter(keys, bytes)
    } catch (error) {
      sequence?.note(error)
      throw error
    }
  }

  return async (keys: GroupKeys, command: Command, until: number) => {
    const bytes = bytesOf(command)
    const leave = enter(keys, bytes)
    try {
      return await new Promise<Result>((resolve, refuse) => {
        // Noted at once, because the next batch may contain others of the sequence.
        const reject = (error: unknown) => {
          keys.sequence?.note(error)
          refuse(error)
        }
        enqueue({ command, bytes, keys, until, resolve, reject, span: activeSpan() })
      })
    } finally {
      leave()
    }
  }
}

/** Refuses commands behind a refused one of their sequence. Returns the others. */
function refuseBehind<Command, Result>(entries: Entry<Command, Result>[]) {
  return entries.filter(({ keys: { sequence }, reject }) => {
    const refusal = sequence?.refusal
    if (refusal !== undefined) reject(refusal)
    return refusal === undefined
  })
}

/** Refuses commands that have too little time left. Returns the others. */
function refuseExpiring<Command, Result>(entries: Entry<Command, Result>[]) {
  const earliest = performance.now() + LEAST_REMAINING_MS
  const expiring = entries.filter(({ until }) => until < earliest)
  for (const { reject } of expiring) reject(new DeadlineError())
  return entries.filter(({ until }) => until >= earliest)
}

type BatchRunner<Command, Result> = {
  run: (commands: Command[], until: number) => Promise<(Result | typeof CONTENDED)[]>
  /** Receives the commands whose locks others held, before the callers of the rest continue. */
  onContended: (entries: Entry<Command, Result>[]) => void
}

async function runBatch<Command, Result>(
  entries: Entry<Command, Result>[],
  { run, onContended }: BatchRunner<Command, Result>,
) {
  if (entries.length === 0) return
  const until = Math.min(...entries.map((entry) => entry.until))
  const contended: Entry<Command, Result>[] = []
  const waiting = entries.map((entry) => ({
    reject: entry.reject,
    resolve: (result: Result | typeof CONTENDED) => {
      if (result === CONTENDED) contended.push(entry)
      else entry.resolve(result)
    },
  }))
  const contendedResources = new Set<string>()
  const runSome = async (
    some: Entry<Command, Result>[],
  ): Promise<(Result | typeof CONTENDED)[]> => {
    // A command that runs alone after a failed batch: the one before it in its sequence may have
    // been refused, and one before it may wait for the same lock.
    const alone = some.length === 1 ? some[0]?.keys : undefined
    const sequence = alone?.sequence
    if (sequence?.refusal) throw sequence.refusal
    if (alone && contendedResources.has(alone.resource)) return [CONTENDED]
    try {
      const results = await run(
        some.map(({ command }) => command),
        until,
      )
      if (alone && results[0] === CONTENDED) contendedResources.add(alone.resource)
      return results
    } catch (error) {
      sequence?.note(error)
      throw error
    }
  }
  answerAll(waiting, await settleBatch(entries, runSome))
  onContended(contended)
}
