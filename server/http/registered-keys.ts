import type { Db } from '../db/client.ts'

/** How many keys are read at once: those that were made or used last. */
const MOST = 20_000
const KEPT_MS = 10_000

/**
 * Tells which API keys there are while strangers send so many others that none is looked up: good
 * keys that this process has not seen yet are read all at once, at most every ten seconds.
 */
export function createRegisteredKeys(db: Pick<Db, 'use'>) {
  let hashes = Promise.resolve(new Set<string>())
  let readAt = Number.NEGATIVE_INFINITY

  const read = async (until: number) => {
    const rows = await db.use(
      (tx) => tx<{ hash: string }[]>`
        select ak.hash
        from api_keys ak
        where ak.expires_at is null
          or ak.expires_at > now()
        order by greatest(ak.created_at, ak.last_used_at) desc
        limit ${MOST}`,
      until,
    )
    return new Set(rows.map(({ hash }) => hash))
  }
  return async (keyHash: string, until: number) => {
    if (performance.now() - readAt >= KEPT_MS) {
      readAt = performance.now()
      hashes = read(until)
      hashes.catch(() => {
        readAt = Number.NEGATIVE_INFINITY
      })
    }
    return (await hashes).has(keyHash)
  }
}
