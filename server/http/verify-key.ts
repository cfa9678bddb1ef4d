import { networkOf } from '../core/addresses.ts'
import type { Admit } from '../core/admission.ts'
import { isApiKey } from '../core/api-keys.ts'
import { appFacts, type KeyFacts } from '../core/app-facts.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import type { KeyUses } from '../core/key-uses.ts'
import type { Log } from '../core/log.ts'
import { createLru } from '../core/lru.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Db, Tx } from '../db/client.ts'
import { CACHE_ENTRIES, CACHE_MS, createLookupCache } from './lookup-cache.ts'
import type { createRateLimits } from './rate-limits.ts'
import { createRegisteredKeys } from './registered-keys.ts'
import type { OnNamed } from './request-facts.ts'
import { requireEnabled } from './require-enabled.ts'

type VerifyKeyOptions = {
  db: Db
  admit: Admit
  revocations: Revocations
  keyUses: KeyUses
  log: Log<'warn'>
  /** Counts a key that is not known to be good; throws if its address sent too many bad ones. */
  takeUnknownKey: ReturnType<typeof createRateLimits>['takeUnknownKey']
}

/** Takes the place of the app in admission, for keys whose app is not known. */
const UNKNOWN_KEYS = 'unknown keys'

/** Returns the app of an API key, and what the key may do. */
export function createVerifyKey({
  db,
  admit,
  revocations,
  keyUses,
  log,
  takeUnknownKey,
}: VerifyKeyOptions) {
  const keys = createLookupCache<KeyFacts>()
  const badKeys = createLru<true>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  /** Keys that were good when they were last looked up. */
  const goodKeys = createLru<true>({ entries: CACHE_ENTRIES })
  const isRegistered = createRegisteredKeys({ db, log })
  revocations.subscribe((revoked) => {
    if ('keyHash' in revoked) {
      keys.drop(revoked.keyHash)
      badKeys.delete(revoked.keyHash)
    }
    if ('isClosed' in revoked) keys.dropAll()
  })

  /**
   * The caller as admission knows it, before the app is looked up. Keys that were good wait as
   * themselves; all others share half of the pool, in which the networks they come from take turns.
   */
  const callerOf = (hash: string, ip: string) =>
    goodKeys.has(hash)
      ? { appId: hash, queue: 'calls' as const, isKeyLookUp: true }
      : { appId: UNKNOWN_KEYS, userId: networkOf(ip), isKeyLookUp: true }

  /** Reads them as a caller of its own, so that it never waits behind one network's flood. */
  const isKept = (hash: string, until: number) =>
    isRegistered(hash, {
      until,
      inTurn: (read) =>
        admit({ appId: UNKNOWN_KEYS, userId: 'all keys', isKeyLookUp: true, until }, read),
    })

  /**
   * Counts a key that is not known to be good. Bad keys of a network never block a registered one.
   */
  const countUnknown = async (hash: string, ip: string, until: number) => {
    if (goodKeys.has(hash)) return undefined
    try {
      return takeUnknownKey(ip)
    } catch (tooMany) {
      if (!(await isKept(hash, until))) throw tooMany
      goodKeys.set(hash, true)
      return undefined
    }
  }

  const factsOf = async (hash: string, ip: string, until: number) => {
    if (badKeys.has(hash)) return undefined
    const select = (db: Tx) => db<KeyFacts[]>`
      select
        ak.app_id, ak.id as key_id, ak.scopes,
        ${appFacts(db)}
      from api_keys ak
      join apps a on a.id = ak.app_id and num_nulls(a.deleted_at) = 1
      where ak.hash = ${hash}
        and (ak.expires_at is null or ak.expires_at > now())`
    const lookup = await countUnknown(hash, ip, until)
    try {
      const facts = await keys.load(hash, {
        inTurn: (look) => admit({ ...callerOf(hash, ip), until }, look),
        select: async () => (await db.use(select, until))[0],
      })
      if (facts === undefined) badKeys.set(hash, true)
      else goodKeys.set(hash, true)
      return facts
    } finally {
      // An unavailable database says nothing about the key.
      if (badKeys.has(hash)) goodKeys.delete(hash)
      else lookup?.giveBack()
    }
  }

  return async (
    { apiKey = '', ip }: { apiKey?: string | undefined; ip: string },
    until: number,
    onNamed: OnNamed,
  ) => {
    const keyHash = sha256(apiKey)
    const facts = isApiKey(apiKey) ? await factsOf(keyHash, ip, until) : undefined
    if (facts === undefined)
      throw new ApiError('UNAUTHORIZED', 'X-API-Key: expected a valid API key')
    onNamed(facts)
    requireEnabled(facts)
    const { appId, keyId, scopes, isDisabled, ...settings } = facts
    keyUses.touch(keyId)
    return { appId, keyHash, keyId, scopes, settings }
  }
}
