import { type Limit, limits } from '@parley/contract'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from '../core/errors.ts'

/** Calls allowed a minute, of one caller and of a whole app; 0 turns a limit off. */
export type RateLimits = Record<Exclude<Limit, 'none'>, number> & { appRequests?: number }

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
  const { appRequests = 0 } = rates
  const countForApp = createCounter(appRequests)
  /** Counts a call of a caller. */
  const take = async (limit: Limit, key: string): Promise<RateLimitWindow | undefined> =>
    limit === 'none' || rates[limit] === 0 ? undefined : counters[limit](key)
  /**
   * Counts a call, which its caller's `own` window let pass, for the app. A call that the app has
   * no room for does not count for its caller.
   */
  const takeForApp = async (appId: string, own: RateLimitWindow | undefined) => {
    if (appRequests === 0 || own?.isExceeded) return own
    const whole = await countForApp(appId)
    if (own && whole.isExceeded) await own.giveBack()
    return own && !whole.isExceeded ? inBoth(own, whole) : whole
  }
  const repeats = new RateLimiterMemory(REPEATS)
  /** Whether a caller who is over a limit may have another call looked up, as a repeat. */
  const mayLookUp = (key: string) =>
    repeats.consume(key).then(
      () => true,
      () => false,
    )
  return { take, takeForApp, mayLookUp, takeUnknownKey: createKeyLimit(rates.tokens) }
}

/** The window that refuses first. A call that is given back leaves both. */
const inBoth = (own: RateLimitWindow, whole: RateLimitWindow): RateLimitWindow => ({
  ...(whole.remaining < own.remaining ? whole : own),
  giveBack: async () => inBoth(await own.giveBack(), await whole.giveBack()),
})

/** One look-up a second on average, and at once the 20 messages of an outbox. */
const REPEATS = { points: 20, duration: 20 }

/** A look-up that was counted. It is given back if the key turns out to be good. */
type KeyLookup = { giveBack: () => Promise<unknown> }

/**
 * Counts unknown API keys by address, before they are looked up. Good ones are given back, so bad
 * ones stop nobody else behind the same address.
 */
function createKeyLimit(limit: number) {
  const limiter = new RateLimiterMemory({ points: limit, duration: limits.rateWindowSeconds })

  return async (address: string): Promise<KeyLookup> => {
    if (limit === 0) return { giveBack: async () => {} }
    const result = await limiter.consume(address).catch((error: unknown) => error)
    if (!(result instanceof RateLimiterRes)) throw result
    if (result.consumedPoints > limit) {
      const seconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000))
      throw new ApiError('RATE_LIMITED', 'Too many bad API keys from this address', seconds)
    }
    return { giveBack: () => limiter.reward(address) }
  }
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
