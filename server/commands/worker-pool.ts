import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../core/log.ts'
import { closeUnaccepted } from './unaccepted.ts'
import { environmentOf, type Handed, type Order } from './worker-link.ts'

/** A worker process that lived this long is replaced without a pause. */
const HEALTHY_MS = 10_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** How long a successor may take to listen, and a predecessor to end beyond its delay. */
const START_MS = 120_000
const END_MS = 20_000

type WorkerPoolOptions = {
  count: number
  databaseUrl: string
  /** How long worker processes serve after they were told to stop. */
  delayMs: number
  log: Log<'info' | 'warn'>
}

/**
 * The worker processes of this server. One that ends is replaced: at once, or after growing pauses
 * if it does not live long.
 */
export function createWorkerPool({ count, databaseUrl, delayMs, log }: WorkerPoolOptions) {
  const current = new Map<number, Worker>()
  /** Workers that have begun to listen. Only they receive orders. */
  const ready = new WeakSet<Worker>()
  /** How many processes in a row ended soon after they started, by worker number. */
  const crashes = new Map<number, number>()
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  let isStopping = false
  let isStarted = false
  let isRolling = false
  let isRollDue = false

  const fork = (number: number, announces = false) => {
    const worker = cluster.fork(environmentOf({ number, announces, databaseUrl } satisfies Handed))
    const startedAt = performance.now()
    current.set(number, worker)
    closeUnaccepted(worker)
    worker.on('error', () => {}) // an order to one that has ended
    worker.once('listening', () => void ready.add(worker))
    worker.once('exit', (code, signal) => {
      if (isStopping || current.get(number) !== worker) return
      const livedMs = Math.round(performance.now() - startedAt)
      // Otherwise the start fails.
      const isReplaced = isStarted || ready.has(worker)
      if (isReplaced) void replace({ number, worker }, { code, signal, livedMs })
    })
    return worker
  }
  const replace = async (
    { number, worker }: { number: number; worker: Worker },
    end: { code: number; signal: string; livedMs: number },
  ) => {
    const failures = end.livedMs < HEALTHY_MS ? (crashes.get(number) ?? 0) + 1 : 0
    crashes.set(number, failures)
    const ms = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
    log.warn({ worker: number, ...end, pauseMs: ms }, 'worker process ended: starting another')
    // It holds this process open: when none is left, nothing else does.
    await pause(ms)
    // A rolling restart may have put another in its place, or its predecessor back.
    if (!isStopping && current.get(number) === worker) fork(number)
  }
  const replaceOne = async (number: number) => {
    const old = current.get(number)
    const next = fork(number)
    try {
      await untilListening(next)
    } catch {
      log.warn({ worker: number }, 'rolling restart given up: its successor did not listen')
      // Unless the old one has ended meanwhile, it goes on.
      if (old && !old.isDead()) {
        current.set(number, old)
        next.process.kill('SIGKILL')
      }
      return false
    }
    if (old) await end(old, 'hand over')
    return true
  }
  const end = async (worker: Worker, order: 'stop' | 'hand over') => {
    if (worker.isDead()) return
    const exited = once(worker, 'exit')
    if (ready.has(worker)) tell(worker, { order })
    else worker.process.kill('SIGTERM')
    const timeout = pause(delayMs + END_MS, 'late' as const, { ref: false })
    if ((await Promise.race([exited, timeout])) === 'late') worker.process.kill('SIGKILL')
  }
  const roll = async () => {
    isRolling = true
    while (isRollDue && !isStopping) {
      isRollDue = false
      if (await replaceAll()) log.info({ workers: count }, 'rolling restart finished')
    }
    isRolling = false
  }
  const replaceAll = async () => {
    for (const number of numbers) {
      if (isStopping || !(await replaceOne(number))) return false
    }
    return true
  }

  return {
    /** Resolves when all listen. The first one starts alone: what is wrong is said once. */
    start: async () => {
      const [first, ...others] = numbers
      if (first === undefined) return
      await untilListening(fork(first, true))
      if (isStopping) return
      await Promise.all(others.map((number) => untilListening(fork(number))))
      isStarted = true
    },
    /** Replaces one after the other by a process that listens already. */
    roll: () => {
      isRollDue = true
      if (!isRolling) void roll()
    },
    all: () => [...current.values()].filter((worker) => worker.isConnected()),
    stop: async () => {
      isStopping = true
      const running = Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? [])
      await Promise.all(running.map((worker) => end(worker, 'stop')))
    },
  }
}

export const tell = (worker: Worker, order: Order) => void worker.send(order, () => {})

/** Rejects if it ends before, or takes too long. */
async function untilListening(worker: Worker) {
  const ended = once(worker, 'exit').then(() => 'ended' as const)
  const late = pause(START_MS, 'late' as const, { ref: false })
  const outcome = await Promise.race([once(worker, 'listening'), ended, late])
  if (outcome === 'ended' || outcome === 'late') throw new Error('a worker process did not start')
}
