import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransportName } from '@parley/server/realtime/sockets/transport'
import { createDataFolder } from '../support/folders.ts'
import { hasRedis } from '../support/redis.ts'
import { killBot } from './bots.ts'
import * as clockFaults from './clock-faults.ts'
import * as faults from './faults.ts'
import * as hookFaults from './hook-faults.ts'
import { killAtImport } from './imports.ts'
import type { RedisKind } from './redis.ts'
import * as redisFaults from './redis-faults.ts'
import type { RigOptions } from './rig.ts'

export type Scenario = {
  /** How long faults go on, in seconds, unless the caller says otherwise. */
  seconds: number
  faults: faults.FaultFunction[]
  /** The pause before each fault, in milliseconds: at least and at most. */
  pause?: readonly [number, number]
  /** How subscribers are connected, in turn; by default by WebSockets. */
  transports?: readonly TransportName[]
  /**
   * Whether the load continues until all nodes must serve again, as it always does on an idle
   * machine.
   */
  loadGoesOn?: boolean
  /** Prepares what the rig needs. Returns a sentence if this machine does not have it. */
  prepare?: () => Preparation | string
}
type Preparation = Partial<RigOptions> & { end?: () => void }

/** Faults of a large deployment in small: any two may happen at once. */
const NETWORK = [
  faults.cutCallers,
  faults.silenceCallers,
  faults.freezeCallers,
  faults.delayCallers,
]
const DATABASE_LINES = [
  faults.loseCommit,
  faults.cutDatabaseLine,
  faults.finishDatabaseLine,
  faults.freezeDatabaseLine,
  faults.delayDatabaseLine,
]
const DATABASE = [
  faults.restartDatabase('fast'),
  faults.restartDatabase('immediate'),
  faults.terminateBackends,
]
const NODES = [faults.killNode, faults.killAtCommit, faults.pauseNode]

const REDIS = [
  redisFaults.killRedis,
  redisFaults.flushRedis,
  redisFaults.freezeRedisLines,
  redisFaults.silenceRedisLines,
  redisFaults.cutRedisLines,
]
const REDIS_LINES = [
  redisFaults.freezeRedisLines,
  redisFaults.silenceRedisLines,
  redisFaults.cutRedisLines,
]
const withRedis = { prepare: findRedis('single') }

const KILLS = [faults.killNode, faults.killAtCommit, faults.killWorkerAtPush]

export const scenarios: Record<string, Scenario> = {
  calm: { seconds: 8, faults: [] },
  kill: { seconds: 12, faults: [faults.killNode] },
  commit: { seconds: 10, faults: [faults.killAtCommit, faults.loseCommit] },
  pause: { seconds: 15, faults: [faults.pauseNode] },
  rolling: { seconds: 10, faults: [faults.rollNodes] },
  callers: { seconds: 15, faults: NETWORK },
  lines: { seconds: 12, faults: [...DATABASE_LINES, faults.refuseDatabaseLine] },
  closures: { seconds: 8, faults: [faults.closeInTransactions], pause: [0, 200] },
  'half-open': { seconds: 20, faults: [faults.silenceDatabaseLine] },
  backends: { seconds: 8, faults: [faults.terminateBackends] },
  'restart-fast': { seconds: 12, faults: [faults.restartDatabase('fast')] },
  'restart-immediate': {
    seconds: 12,
    faults: [faults.restartDatabase('immediate')],
    loadGoesOn: true,
  },
  worker: { seconds: 8, faults: [faults.killWorkerAtPush], pause: [1_000, 4_000] },
  presence: { seconds: 20, faults: [faults.killNode, ...DATABASE_LINES] },
  clock: {
    seconds: 15,
    faults: [clockFaults.stepClock, clockFaults.stepDatabaseClock],
    prepare: findClockLibrary,
  },
  disk: { seconds: 12, faults: [faults.fillDisk], prepare: mountSmallDisk },
  schema: {
    seconds: 15,
    faults: [faults.killNode, faults.loseCommit, ...DATABASE, faults.killWorkerAtPush],
    prepare: () => ({ schema: 'chat' }),
  },
  'redis-kill': { ...withRedis, seconds: 15, faults: [redisFaults.killRedis] },
  'redis-flush': { ...withRedis, seconds: 10, faults: [redisFaults.flushRedis] },
  'redis-blackhole': { ...withRedis, seconds: 20, faults: REDIS_LINES },
  failover: {
    ...withRedis,
    seconds: 25,
    faults: [redisFaults.failRedisOver],
    prepare: findRedis('sentinels'),
  },
  redis: {
    ...withRedis,
    seconds: 10,
    faults: REDIS,
    transports: ['websocket', 'http_stream', 'sse'],
  },
  'redis-mix': {
    seconds: 25,
    faults: [...REDIS, ...NODES, ...DATABASE_LINES, ...DATABASE],
    prepare: findRedis('single'),
  },
  'redis-database': {
    ...withRedis,
    seconds: 25,
    faults: [...REDIS, faults.pauseNode, ...DATABASE_LINES, ...DATABASE],
  },
  hooks: {
    seconds: 40,
    faults: [
      hookFaults.killReceiver,
      hookFaults.failReceiver,
      hookFaults.delayReceiver,
      hookFaults.killWorkerAtDelivery,
    ],
    // A delivery that fails twice waits for 30 s, and then for minutes.
    pause: [6_000, 8_000],
    prepare: () => ({ hasWebhook: true }),
  },
  bots: { seconds: 30, faults: [killBot], pause: [0, 1_000] },
  imports: { seconds: 10, faults: [killAtImport] },
  transports: {
    seconds: 20,
    faults: [faults.killNode, faults.rollNodes, faults.pauseNode, ...NETWORK],
    transports: ['http_stream', 'sse'],
  },
  mix: { seconds: 20, faults: [...NODES, ...NETWORK, ...DATABASE_LINES, ...DATABASE] },
  endurance: {
    seconds: 300,
    faults: [...NODES, ...KILLS, ...NETWORK, ...DATABASE_LINES, ...DATABASE],
    pause: [3_000, 6_000],
  },
}

/** The scenarios run for every change: three minutes at most. The rest is for releases. */
export const quick = [
  ...['commit', 'rolling', 'lines', 'closures', 'restart-immediate', 'clock', 'redis', 'mix'],
]

const CLOCK_LIBRARIES = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/faketime/libfaketime.so.1',
  '/usr/local/lib/faketime/libfaketime.so.1',
]
function findClockLibrary() {
  const clockLibrary = CLOCK_LIBRARIES.find((path) => existsSync(path))
  return clockLibrary === undefined ? 'libfaketime is not installed' : { clockLibrary }
}

function findRedis(redis: RedisKind) {
  return () => (hasRedis ? { redis } : 'redis-server is not installed')
}

const SMALL_DISK_MB = 300

function mountSmallDisk() {
  if (process.getuid?.() !== 0) return 'mounting a small disk needs root'
  const disk = createDataFolder('faults-disk')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK_MB}m`, 'tmpfs', disk], {
      stdio: 'ignore',
    })
  } catch {
    rmSync(disk, { recursive: true })
    return 'this machine does not allow mounts'
  }
  const databaseFolder = join(disk, 'data')
  mkdirSync(databaseFolder)
  for (const folder of [disk, databaseFolder]) chmodSync(folder, 0o755)
  const end = () => {
    execFileSync('umount', [disk])
    rmSync(disk, { recursive: true })
  }
  return { databaseFolder, end }
}

/** Carries out the scenario's faults, one after the other, until `signal`. */
export async function harm(
  { faults: kinds, pause = [300, 1_500] }: Scenario,
  rig: Parameters<faults.FaultFunction>[0],
  signal: AbortSignal,
) {
  const rest = () => delay(rig.random.between(...pause), undefined, { signal }).catch(() => {})
  const deck: faults.FaultFunction[] = []
  for (await rest(); !signal.aborted; await rest()) {
    if (kinds.length === 0) continue
    if (deck.length === 0) deck.push(...kinds)
    const [fault] = deck.splice(rig.random.between(0, deck.length - 1), 1)
    await fault?.(rig)
  }
}
