import { createLru } from '../../core/lru.ts'

/**
 * A fetch has to wait, because too many went to its host, or too many of its user are in progress.
 */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}

/** How many hosts are remembered, for one window each. */
const MOST_HOSTS = 10_000

/** `host`: the name and port that an app fetched from, or the network of the address. */
type Fetched = { appId: string; host: string }
/** How many fetches of an app may go to one host in a window of time. */
export type HostLimit = { most: number; windowMs: number }

/**
 * Limits the fetches of an app from one host, redirects included: a user who writes many links must
 * not make this server flood another. Other apps have budgets of their own.
 */
export function createHostLimit({ most, windowMs }: HostLimit) {
  const counts = createLru<number>({
    entries: MOST_HOSTS,
    ttl: windowMs,
    noUpdateTTL: true,
  })
  const keyOf = ({ appId, host }: Fetched) => `${appId} ${host}`
  const check = (fetched: Fetched) => {
    const count = counts.get(keyOf(fetched)) ?? 0
    if (count >= most)
      throw new BusyError(`rate limit: ${most} fetches from ${fetched.host} in the window`)
  }
  const count = (fetched: Fetched) =>
    void counts.set(keyOf(fetched), (counts.get(keyOf(fetched)) ?? 0) + 1)
  return {
    /** Throws a BusyError if no more may be fetched. */
    check,
    count,
  }
}

type Shares = {
  /** How many of a user may be in progress. */
  perUser: number
  /** How many of an app, while one of them took long in the last minute. */
  perSlowApp: number
}
type Author = { appId: string; userId: string }

/** Who waits for a fetch that takes longer waits for a slow site. */
const SLOW_MS = 1_000
/** For how long an app counts as slow, and how many are remembered. */
const SLOW_APP_MS = 60_000
const MOST_SLOW_APPS = 10_000

/**
 * Runs work for users, unless too much of one user, or of an app whose work is slow, is in
 * progress: slow links must not keep everybody else waiting for previews. An app whose links are
 * quick may have all places, which it leaves at once.
 */
export function createShares({ perUser, perSlowApp }: Shares) {
  const ofUsers = createCounts()
  const ofApps = createCounts()
  const slowApps = createLru<true>({ entries: MOST_SLOW_APPS, ttl: SLOW_APP_MS })
  return async <T>({ appId, userId }: Author, work: () => Promise<T>): Promise<T> => {
    const user = `${appId}:${userId}`
    if (ofUsers.get(user) >= perUser)
      throw new BusyError(`${perUser} messages of their author are under way`)
    if (slowApps.has(appId) && ofApps.get(appId) >= perSlowApp)
      throw new BusyError(`${perSlowApp} messages of their app are under way, and its links slow`)
    ofUsers.add(user, 1)
    ofApps.add(appId, 1)
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      if (performance.now() - startedAt > SLOW_MS) slowApps.set(appId, true)
      ofUsers.add(user, -1)
      ofApps.add(appId, -1)
    }
  }
}

/** Counts by key; what is back at 0 takes no memory. */
function createCounts() {
  const counts = new Map<string, number>()
  const get = (key: string) => counts.get(key) ?? 0
  const add = (key: string, by: 1 | -1) => {
    const count = get(key) + by
    if (count > 0) counts.set(key, count)
    else counts.delete(key)
  }
  return { get, add }
}
