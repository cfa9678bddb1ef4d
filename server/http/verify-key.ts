import type { Admit } from '../core/admission.ts'
import { isApiKey } from '../core/api-keys.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import { createLru } from '../core/lru.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Db, Tx } from '../db/client.ts'
import { CACHE_ENTRIES, CACHE_MS, createLookupCache } from './lookup-cache.ts'
import type { createRateLimits } from './rate-limits.ts'

type VerifyKeyOptions = {
  db: Db
  admit: Admit
  revocations: Revocations
  /** Counts a key that is not known to be good; throws if its address sent too many bad ones. */
  takeUnknownKey: ReturnType<typeof createRateLimits>['takeUnknownKey']
}
type AppRow = { appId: string }

/** Returns the app of an API key. */
export function createVerifyKey({ db, admit, revocations, takeUnknownKey }: VerifyKeyOptions) {
  const apps = createLookupCache<string>()
  const badKeys = createLru<true>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  /** Keys that were good when they were last looked up. */
  const goodKeys = createLru<true>({ entries: CACHE_ENTRIES })
  revocations.subscribe((revoked) => {
    if ('keyHash' in revoked) apps.drop(revoked.keyHash)
  })

  const appOf = async (hash: string, ip: string, until: number) => {
    if (badKeys.has(hash)) return undefined
    const select = (db: Tx) => db<AppRow[]>`
      select ak.app_id
      from api_keys ak
      where ak.hash = ${hash}`
    const lookup = goodKeys.has(hash) ? undefined : takeUnknownKey(ip)
    try {
      const appId = await apps.load(hash, {
        // The app is not known before the key is looked up, so the key stands for it.
        inTurn: (look) => admit({ appId: hash, lane: 'calls', until }, look),
        select: async () => (await db.use(select, until))[0]?.appId,
      })
      if (appId === undefined) badKeys.set(hash, true)
      else goodKeys.set(hash, true)
      return appId
    } finally {
      // An unavailable database says nothing about the key.
      if (badKeys.has(hash)) goodKeys.delete(hash)
      else lookup?.giveBack()
    }
  }

  return async (
    { apiKey = '', ip }: { apiKey?: string | undefined; ip: string },
    until: number,
  ) => {
    const keyHash = sha256(apiKey)
    const appId = isApiKey(apiKey) ? await appOf(keyHash, ip, until) : undefined
    if (appId === undefined)
      throw new ApiError('UNAUTHORIZED', 'X-API-Key: expected a valid API key')
    return { appId, keyHash }
  }
}
