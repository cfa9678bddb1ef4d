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

/**
 * Runs work of one user, unless too much of theirs is in progress: slow links of one user must not
 * keep everybody else waiting for previews.
 */
export function createUserShare(most: number) {
  const running = new Map<string, number>()
  return async <T>(user: string, work: () => Promise<T>): Promise<T> => {
    const count = running.get(user) ?? 0
    if (count >= most) throw new BusyError(`${most} messages of their author are under way`)
    running.set(user, count + 1)
    try {
      return await work()
    } finally {
      const left = (running.get(user) ?? 1) - 1
      if (left > 0) running.set(user, left)
      else running.delete(user)
    }
  }
}
