import { type Limit, limits } from '@parley/contract'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** Calls allowed a minute; 0 turns a limit off. */
export type Rates = Record<Exclude<Limit, 'none'>, number>
/** The state of a caller's window after a call was counted in it. */
export type Window = { limit: number; remaining: number; resetSeconds: number; isExceeded: boolean }

/** Fixed windows of a minute from the first call, in which exactly so many calls pass. Each node counts for itself. */
export function createRates(rates: Rates) {
  const limiters = {
    tokens: new RateLimiterMemory({ keyPrefix: 'tokens', points: rates.tokens, duration: limits.rateWindowSeconds }),
    messages: new RateLimiterMemory({ keyPrefix: 'messages', points: rates.messages, duration: limits.rateWindowSeconds }),
    requests: new RateLimiterMemory({ keyPrefix: 'requests', points: rates.requests, duration: limits.rateWindowSeconds }),
  }

  const take = async (limit: Limit, key: string): Promise<Window | undefined> => {
    if (limit === 'none' || rates[limit] === 0) return undefined
    try {
      return toWindow(rates[limit], await limiters[limit].consume(key), false)
    } catch (rejection) {
      if (rejection instanceof RateLimiterRes) return toWindow(rates[limit], rejection, true)
      throw rejection
    }
  }
  /** Gives a call's unit back. */
  const giveBack = async (limit: Limit, key: string): Promise<Window | undefined> =>
    limit === 'none' || rates[limit] === 0 ? undefined : toWindow(rates[limit], await limiters[limit].reward(key), false)

  return { take, giveBack }
}

const toWindow = (limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes, isExceeded: boolean): Window => ({
  limit,
  remaining: Math.max(0, remainingPoints),
  resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  isExceeded,
})
