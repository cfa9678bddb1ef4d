import type { Log } from '../core/log.ts'
import type { Db } from '../db/client.ts'

/** How many keys are read at once: those that were made or used last, by their index. */
const MOST = 20_000
const KEPT_MS = 10_000
/** How long nothing is read after a failure, and twice as long after each further one. */
const PAUSE_MS = 1_000

type ReadKeys = () => Promise<Set<string>>
type RegistrationQuery = {
  until: number
  /** Waits for a connection of those set aside for unknown keys. */
  inTurn: (read: ReadKeys) => Promise<Set<string>>
}
type RegisteredKeysOptions = { db: Pick<Db, 'use'>; log: Log<'warn'> }

/**
 * Knows which API keys exist during a flood of unknown ones, when none is looked up one by one. It
 * reads the keys made or used last all at once, at most every ten seconds, so that good keys new to
 * this process still work. While that fails, the result of the last read counts.
 */
export function createRegisteredKeys({ db, log }: RegisteredKeysOptions) {
  let hashes = new Set<string>()
  let reading = Promise.resolve()
  let nextAt = Number.NEGATIVE_INFINITY
  let failures = 0

  const select = async (until: number) => {
    const rows = await db.use(
      (tx) => tx<{ hash: string }[]>`
        select ak.hash
        from (
          select ak.hash, ak.expires_at
          from api_keys ak
          order by greatest(ak.created_at, ak.last_used_at) desc
          limit ${MOST}
        ) ak
        where ak.expires_at is null
          or ak.expires_at > now()`,
      until,
    )
    return new Set(rows.map(({ hash }) => hash))
  }
  const read = async ({ until, inTurn }: RegistrationQuery) => {
    nextAt = Number.POSITIVE_INFINITY
    try {
      hashes = await inTurn(() => select(until))
      failures = 0
      nextAt = performance.now() + KEPT_MS
    } catch (err) {
      // The caller is refused as one who sends too many keys, so only this line shows the failure.
      if (failures === 0)
        log.warn({ err }, 'failed to read the API keys during a flood of bad ones')
      nextAt = performance.now() + Math.min(PAUSE_MS * 2 ** failures, KEPT_MS)
      failures += 1
    }
  }
  return async (keyHash: string, query: RegistrationQuery) => {
    if (performance.now() >= nextAt) reading = read(query)
    await reading
    return hashes.has(keyHash)
  }
}
