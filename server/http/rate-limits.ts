import { type Limit, limits } from '@parley/contract'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** Calls allowed a minute; 0 turns a limit off. */
export type RateLimits = Record<Exclude<Limit, 'none'>, number>

/** A caller's window, after a call was counted in it. */
export type RateLimitWindow = {
  limit: number
  remaining: number
  resetSeconds: number
  isExceeded: boolean
  /** Takes the call out of the count again. */
  giveBack: () => Promise<RateLimitWindow>
}

/**
 * Counts calls in fixed windows of a minute that start with a caller's first call. Exactly the
 * allowed number of calls passes in a window. Each node counts separately.
 */
export function createRateLimits(rates: RateLimits) {
  const counters = {
    tokens: createCounter(rates.tokens),
    messages: createCounter(rates.messages),
    requests: createCounter(rates.requests),
  }
  /** Counts a call. */
  const take = async (limit: Limit, key: string): Promise<RateLimitWindow | undefined> =>
    limit === 'none' || rates[limit] === 0 ? undefined : counters[limit](key)
  return { take }
}

function createCounter(limit: number) {
  const limiter = new RateLimiterMemory({ points: limit, duration: limits.rateWindowSeconds })

  return async (key: string): Promise<RateLimitWindow> => {
    const result = await limiter.consume(key).catch((error: unknown) => error)
    if (!(result instanceof RateLimiterRes)) throw result
    const isExceeded = result.consumedPoints > limit
    // A refused call must not be counted: otherwise a call given back later would free no room.
    if (isExceeded) await limiter.reward(key)
    const endsAt = Date.now() + result.msBeforeNext
    const toWindow = (
      { remainingPoints, msBeforeNext }: RateLimiterRes,
      isExceeded: boolean,
    ): RateLimitWindow => ({
      limit,
      remaining: remainingPoints,
      resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
      isExceeded,
      giveBack,
    })
    const giveBack = async () => {
      const isOpen = Date.now() < endsAt
      return toWindow(isOpen ? await limiter.reward(key) : result, false)
    }
    return toWindow(result, isExceeded)
  }
}
