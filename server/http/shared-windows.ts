import { limits } from '@parley/contract'
import type { ConnectRedis } from '../core/redis.ts'

export type SharedWindowsOptions = {
  connect: ConnectRedis
  /** The prefix of its keys in Redis. */
  prefix: string
  /** How long a call waits for Redis before this node counts it alone. */
  patienceMs?: number | undefined
}

/** The state of a window that all nodes share, and whether this call exceeded it. */
type SharedWindow = { used: number; milliseconds: number; isExceeded: boolean }

export type SharedWindows = {
  /** Undefined if Redis does not answer in time: the node counts alone. */
  take: (key: string, limit: number) => Promise<SharedWindow | undefined>
  /** Uncounts a call. */
  giveBack: (key: string) => void
  close: () => void
}

const PATIENCE_MS = 50
/** How long this node counts alone, without asking Redis, after it did not answer. */
const PAUSE_MS = 1_000

/** A refused call is not counted: giving another call back would otherwise free no room. */
const TAKE = `
  local used = tonumber(redis.call('get', KEYS[1]) or '0')
  local isExceeded = used >= tonumber(ARGV[1])
  if not isExceeded then
    used = redis.call('incr', KEYS[1])
    if used == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) end
  end
  return { used, redis.call('pttl', KEYS[1]), isExceeded and 1 or 0 }`
const GIVE_BACK = `
  if tonumber(redis.call('get', KEYS[1]) or '0') > 0 then redis.call('decr', KEYS[1]) end`

/** The windows of all nodes, in Redis. Each ends by itself, a minute after its first call. */
export function createSharedWindows(options: SharedWindowsOptions): SharedWindows {
  const { connect, prefix, patienceMs = PATIENCE_MS } = options
  const { client, isReady, close } = connect({ name: 'parley-limits', commandMs: patienceMs })
  const nameOf = (key: string) => `${prefix}:rate:${key}`
  let awayUntil = 0
  const failed = () => {
    awayUntil = performance.now() + PAUSE_MS
  }
  return {
    take: async (key, limit) => {
      if (!isReady() || performance.now() < awayUntil) return undefined
      const milliseconds = 1_000 * limits.rateWindowSeconds
      try {
        const answer = await client.eval(TAKE, 1, nameOf(key), limit, milliseconds)
        const [used = 0, left = 0, isExceeded] = answer as number[] // by the script
        return { used, milliseconds: Math.max(0, left), isExceeded: isExceeded === 1 }
      } catch {
        failed()
        return undefined
      }
    },
    giveBack: (key) => {
      if (isReady()) client.eval(GIVE_BACK, 1, nameOf(key)).catch(failed)
    },
    close,
  }
}
