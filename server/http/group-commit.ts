import { CONTENDED } from '../core/operation.ts'
import { answerAll, settleBatch } from '../core/settle-batch.ts'
import { DeadlineError } from '../db/client.ts'
import { type Amount, createWaitingRoom } from './waiting-room.ts'

/**
 * Commands with the same `group` may share a transaction. Those with the same `resource` need the
 * same lock; a group has many resources.
 */
type GroupKeys = { group: string; resource: string }

/** How to run a batch: within which time, and whether it may wait for locks that others hold. */
type BatchRun = { until: number; mayWait: boolean }

type Entry<Command, Result> = {
  command: Command
  bytes: number
  keys: GroupKeys
  until: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
type GroupCommitOptions<Command, Result> = {
  /** Runs the commands of one batch; one result per command, in order. */
  run: (commands: Command[], options: BatchRun) => Promise<(Result | typeof CONTENDED)[]>
  /** About how large a command is. */
  bytesOf: (command: Command) => number
  /** The most commands of a batch, and their bytes; a larger command has a batch to itself. */
  batch: Amount
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
 * one batch. An idle group adds no delay, and a busy one holds one connection however many commands
 * wait for it. A batch of a group never waits for locks: commands whose resource is locked by
 * others go to a queue of that resource, which does wait, and nobody else with them. Commands of
 * one resource run in the order in which they arrived, and the resources of a group take turns. A
 * command that finds no room to wait is refused.
 */
export function createGroupCommit<Command, Result>({
  run,
  bytesOf,
  batch,
  waiting,
  onRefused,
}: GroupCommitOptions<Command, Result>) {
  type BatchEntry = Entry<Command, Result>
  /** The commands that wait, by resource. */
  type Queue = Map<string, BatchEntry[]>
  const groups = new Map<string, Queue>()
  const resources = new Map<string, Queue>()
  const room = createWaitingRoom(waiting, onRefused)

  const enqueue = (entry: BatchEntry) => {
    const { group, resource } = entry.keys
    if (resources.has(resource)) enqueueIn(resources, resource, entry)
    else enqueueIn(groups, group, entry)
  }
  const enqueueIn = (queues: Map<string, Queue>, key: string, entry: BatchEntry) => {
    const { resource } = entry.keys
    const queue = queues.get(key)
    if (!queue) {
      const started: Queue = new Map([[resource, [entry]]])
      queues.set(key, started)
      void drain(queues, key, started)
      return
    }
    const entries = queue.get(resource)
    if (entries) entries.push(entry)
    else queue.set(resource, [entry])
  }

  const drain = async (queues: Map<string, Queue>, key: string, queue: Queue) => {
    const mayWait = queues === resources
    while (queue.size > 0) {
      const earliest = performance.now() + LEAST_REMAINING_MS
      const entries = takeBatch(queue)
      const expiring = entries.filter(({ until }) => until < earliest)
      for (const { reject } of expiring) reject(new DeadlineError())
      await runBatch(
        entries.filter(({ until }) => until >= earliest),
        mayWait,
      )
    }
    queues.delete(key)
  }
  /** Takes one command of each resource in turn, until the batch is full. */
  const takeBatch = (queue: Queue) => {
    const taken: BatchEntry[] = []
    let bytes = 0
    for (const [resource, entries] of queue) {
      const [entry] = entries
      if (!entry) throw new Error('a resource without commands is not queued')
      bytes += entry.bytes
      if (taken.length === batch.commands || (taken.length > 0 && bytes > batch.bytes)) break
      taken.push(entry)
      entries.shift()
      // To the end, where this loop meets it again: the other resources have their turn first.
      queue.delete(resource)
      if (entries.length > 0) queue.set(resource, entries)
    }
    return taken
  }

  const runBatch = async (entries: BatchEntry[], mayWait: boolean): Promise<void> => {
    if (entries.length === 0) return
    const until = Math.min(...entries.map((entry) => entry.until))
    const commands = entries.map(({ command }) => command)
    const contended: BatchEntry[] = []
    const waiting = entries.map((entry) => ({
      reject: entry.reject,
      resolve: (result: Result | typeof CONTENDED) => {
        if (result === CONTENDED) contended.push(entry)
        else entry.resolve(result)
      },
    }))
    answerAll(waiting, await settleBatch(commands, (some) => run(some, { until, mayWait })))
    waitForLocks(contended)
  }
  /** Moves commands to the queues of their resources, with those that arrived behind them. */
  const waitForLocks = (contended: BatchEntry[]) => {
    for (const entry of contended) enqueueIn(resources, entry.keys.resource, entry)
    for (const { keys } of contended) {
      const queue = groups.get(keys.group)
      const behind = queue?.get(keys.resource) ?? []
      queue?.delete(keys.resource)
      for (const entry of behind) enqueueIn(resources, keys.resource, entry)
    }
  }

  return async (keys: GroupKeys, command: Command, until: number) => {
    const bytes = bytesOf(command)
    const leave = room.enter(keys, bytes)
    try {
      return await new Promise<Result>((resolve, reject) =>
        enqueue({ command, bytes, keys, until, resolve, reject }),
      )
    } finally {
      leave()
    }
  }
}
