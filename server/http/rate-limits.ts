import { type Limit, limits } from '@parley/contract'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** Calls allowed a minute; 0 turns a limit off. */
export type RateLimits = Record<Exclude<Limit, 'none'>, number>
/** The state of a caller's window after a call was counted in it. */
export type Window = {
  limit: number
  remaining: number
  resetSeconds: number
  isExceeded: boolean
  giveBack: () => Promise<Window>
}

/** Fixed windows of a minute from the first call, in which exactly so many calls pass. Each node counts for itself. */
export function createRateLimits(rates: RateLimits) {
  const windows = {
    tokens: createWindows(rates.tokens),
    messages: createWindows(rates.messages),
    requests: createWindows(rates.requests),
  }
  /** Counts a call. */
  const take = async (limit: Limit, key: string): Promise<Window | undefined> =>
    limit === 'none' || rates[limit] === 0 ? undefined : windows[limit](key)
  return { take }
}

function createWindows(limit: number) {
  const limiter = new RateLimiterMemory({ points: limit, duration: limits.rateWindowSeconds })

  const take = async (key: string): Promise<Window> => {
    const result = await limiter.consume(key).catch((error: unknown) => error)
    if (!(result instanceof RateLimiterRes)) throw result
    const isExceeded = result.consumedPoints > limit
    // A refused call takes nothing, or a unit given back later would be of no use to anybody.
    if (isExceeded) await limiter.reward(key)
    const endsAt = Date.now() + result.msBeforeNext
    const giveBack = async () =>
      toWindow(Date.now() < endsAt ? await limiter.reward(key) : result, false)
    const toWindow = (
      { remainingPoints, msBeforeNext }: RateLimiterRes,
      isExceeded: boolean,
    ): Window => ({
      limit,
      remaining: remainingPoints,
      resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
      isExceeded,
      giveBack,
    })
    return toWindow(result, isExceeded)
  }
  return take
}
