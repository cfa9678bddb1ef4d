import { type Limit, limits } from '@parley/contract'
import { networkOf } from '../core/addresses.ts'
import { ApiError } from '../core/errors.ts'
import { createRateWindows, type RateWindow, secondsLeft } from './rate-windows.ts'
import type { SharedWindows } from './shared-windows.ts'

/** Calls allowed a minute, of one caller and of a whole app; 0 turns a limit off. */
export type RateLimits = Record<Exclude<Limit, 'none' | 'appends'>, number> & {
  appends?: number
  appRequests?: number
}

/** The limits of an app that differ from the server's. */
type OwnLimits = { [Name in keyof RateLimits]?: number | null }

type MaybePromise<T> = T | Promise<T>

/** What the headers of an answer show of a window. */
export type ShownWindow = { limit: number; remaining: number; resetSeconds: number }

/** A caller's window, after a call was counted in it. */
export type RateLimitWindow = ShownWindow & {
  isExceeded: boolean
  /** Uncounts the call. */
  giveBack: () => RateLimitWindow
}

/**
 * Counts calls in fixed windows of a minute that start with a caller's first call. Exactly the
 * allowed number of calls passes in a window. Each node counts separately, unless there are shared
 * windows.
 */
export function createRateLimits(
  { appends = 0, appRequests = 0, ...given }: RateLimits,
  shared?: SharedWindows | undefined,
) {
  const rates = { ...given, appends }
  const counters = {
    tokens: createCounter(),
    messages: createCounter(),
    requests: createCounter(),
    appends: createCounter(),
    app: createCounter(),
  }
  const count = (name: keyof typeof counters, limit: number, key: string) =>
    shared
      ? countTogether(shared, { key: `${name}:${key}`, limit }, () => counters[name](key, limit))
      : counters[name](key, limit)
  /** Counts a call of a caller, whose app may have limits of its `own`. */
  const take = (
    limit: Limit,
    key: string,
    own?: OwnLimits,
  ): MaybePromise<RateLimitWindow | undefined> => {
    if (limit === 'none') return undefined
    const most = own?.[limit] ?? rates[limit]
    return most === 0 ? undefined : count(limit, most, key)
  }
  /**
   * Counts a call, which the caller's `own` window let pass, for the app as well. If the app has no
   * room for it, the caller's count is given back.
   */
  const takeForApp = async (
    appId: string,
    own: RateLimitWindow | undefined,
    ownLimits?: OwnLimits,
  ) => {
    const most = ownLimits?.appRequests ?? appRequests
    if (most === 0 || own?.isExceeded) return own
    const whole = await count('app', most, appId)
    if (own && whole.isExceeded) own.giveBack()
    return own && !whole.isExceeded ? inBoth(own, whole) : whole
  }
  const repeatsOf = createRateWindows(REPEATS.seconds)
  /** Whether a caller who is over a limit may have another call looked up, as a repeat. */
  const mayLookUp = (key: string) => {
    const window = repeatsOf(key)
    window.used += 1
    return window.used <= REPEATS.lookUps
  }
  return {
    take,
    takeForApp,
    mayLookUp,
    takeUnknownKey: createKeyLimit(rates.tokens),
    takeWrongAdminKey: createKeyLimit(rates.tokens),
  }
}

/**
 * Combines both windows: the one that refuses first is shown, and giving a call back uncounts it in
 * both.
 */
const inBoth = (own: RateLimitWindow, whole: RateLimitWindow): RateLimitWindow => ({
  ...(whole.remaining < own.remaining ? whole : own),
  giveBack: () => inBoth(own.giveBack(), whole.giveBack()),
})

/**
 * One look-up a second on average, and a burst of 20, the messages that an outbox sends at once.
 */
const REPEATS = { lookUps: 20, seconds: 20 }

/** An address has sent too many bad keys: the limit of these is shown. */
export class BadKeysError extends ApiError {
  override readonly name = 'BadKeysError'

  constructor(readonly window: ShownWindow) {
    super('RATE_LIMITED', 'Too many bad keys from this address', window.resetSeconds)
  }
}

/** A look-up that was counted. It is given back if the key turns out to be good. */
type KeyLookup = { giveBack: () => void }

/**
 * Counts wrong admin keys by network, or API keys that this process does not know, before they are
 * looked up. Good ones are given back, and are known from then on: bad ones stop none of these.
 * IPv6 is counted by networks of /64.
 */
function createKeyLimit(limit: number) {
  const windowOf = createRateWindows(limits.rateWindowSeconds)

  return (address: string): KeyLookup => {
    if (limit === 0) return { giveBack: () => {} }
    const window = windowOf(networkOf(address))
    if (window.used >= limit) {
      throw new BadKeysError({ limit, remaining: 0, resetSeconds: secondsLeft(window) })
    }
    window.used += 1
    const giveBack = () => {
      window.used -= 1
    }
    return { giveBack }
  }
}

function createCounter() {
  const windowOf = createRateWindows(limits.rateWindowSeconds)

  return (key: string, limit: number): RateLimitWindow => {
    const window = windowOf(key)
    const isExceeded = window.used >= limit
    // A refused call is not counted: giving another call back would otherwise free no room.
    if (!isExceeded) window.used += 1
    return show({ limit, window, isExceeded, onGiveBack: () => {} })
  }
}

/** Counts a call in the shared window, or in this node's own if that is not possible now. */
async function countTogether(
  shared: SharedWindows,
  { key, limit }: { key: string; limit: number },
  countHere: () => RateLimitWindow,
): Promise<RateLimitWindow> {
  const taken = await shared.take(key, limit)
  if (!taken) return countHere()
  const { used, milliseconds, isExceeded } = taken
  const window = { used, endsAt: performance.now() + milliseconds }
  // After its window it would free room in the next one.
  const onGiveBack = () => {
    if (performance.now() < window.endsAt) shared.giveBack(key)
  }
  return show({ limit, window, isExceeded, onGiveBack })
}

type TakenWindow = {
  limit: number
  window: RateWindow
  isExceeded: boolean
  onGiveBack: () => void
}

function show({ limit, window, isExceeded, onGiveBack }: TakenWindow): RateLimitWindow {
  return {
    limit,
    // The limit may have been lowered meanwhile.
    remaining: Math.max(0, limit - window.used),
    resetSeconds: secondsLeft(window),
    isExceeded,
    giveBack: () => {
      window.used -= 1
      onGiveBack()
      return show({ limit, window, isExceeded: false, onGiveBack })
    },
  }
}
