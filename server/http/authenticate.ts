import { timingSafeEqual } from 'node:crypto'
import { type Auth, limits } from '@parley/contract'
import { LRUCache } from 'lru-cache'
import { isApiKey } from '../core/api-keys.ts'
import type { Caller } from '../core/context.ts'
import { fail } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Tokens } from '../core/tokens.ts'
import type { Db, Tx } from '../db/client.ts'

/** The credentials of a request, as its headers carry them. */
export type Credentials = {
  authorization?: string | undefined
  apiKey?: string | undefined
  adminKey?: string | undefined
}
/** `until`: when the answer must be there. */
export type Authenticate = (auth: Auth, credentials: Credentials, until: number) => Promise<Caller>

/** How long a revoked token or a deleted key may still be taken for valid by another node. */
const CACHE_MS = limits.revocationSeconds * 1_000
const CACHE_ENTRIES = 20_000

type Options = { db: Db; tokens: Tokens; adminKey: string | undefined; revocations: Revocations }

/** Tells who calls, or refuses: UNAUTHORIZED without credentials of the wanted kind, INVALID_TOKEN for a bad bearer token. */
export function createAuthenticate({ db, tokens, adminKey, revocations }: Options): Authenticate {
  const generations = createMemory<number>()
  const apps = createMemory<string>()
  revocations.subscribe((revoked) =>
    'keyHash' in revoked ? apps.drop(revoked.keyHash) : generations.drop(userKey(revoked)),
  )

  const user = async (token: string | undefined, until: number) => {
    if (token === undefined) return fail('UNAUTHORIZED', 'Authorization: expected Bearer <token>')
    const claims = await tokens.verify('api', token)
    if (claims === 'expired') return fail('INVALID_TOKEN', 'The token has expired')
    if (claims === 'invalid') return fail('INVALID_TOKEN', 'The token is invalid')
    const { appId, userId, admin, generation } = claims
    const known = await currentGeneration(claims, until)
    // A token newer than what is remembered was minted after a revocation on another node.
    if (known !== undefined && known < generation) generations.drop(userKey(claims))
    const current =
      known !== undefined && known < generation ? await currentGeneration(claims, until) : known
    return current === generation
      ? { appId, userId, admin }
      : fail('INVALID_TOKEN', 'The token has been revoked')
  }
  const currentGeneration = (
    { appId, userId }: { appId: string; userId: string },
    until: number,
  ) => {
    const select = (db: Tx) => db<{ tokenGeneration: number }[]>`
      select token_generation from users where app_id = ${appId} and id = ${userId} and deleted_at is null`
    return generations.recall(
      userKey({ appId, userId }),
      async () => (await db.use(select, until))[0]?.tokenGeneration,
    )
  }

  const app = async (apiKey: string | undefined, until: number) => {
    const hash = sha256(apiKey ?? '')
    const select = (db: Tx) =>
      db<{ appId: string }[]>`select app_id from api_keys where hash = ${hash}`
    const appId =
      apiKey !== undefined && isApiKey(apiKey)
        ? await apps.recall(hash, async () => (await db.use(select, until))[0]?.appId)
        : undefined
    return appId === undefined
      ? fail('UNAUTHORIZED', 'X-API-Key: expected a valid API key')
      : { appId }
  }

  const admin = async (given: string | undefined) =>
    adminKey !== undefined && given !== undefined && isSame(given, adminKey)
      ? {}
      : fail('UNAUTHORIZED', 'X-Admin-Key: expected the admin key')

  return async (auth, { authorization, apiKey, adminKey }, until) => {
    if (auth === 'none') return {}
    if (auth === 'admin') return admin(adminKey)
    if (auth === 'key') return app(apiKey, until)
    const token = bearerToken(authorization)
    if (auth === 'user' || token !== undefined || apiKey === undefined) return user(token, until)
    return { ...(await app(apiKey, until)), userId: null }
  }
}

/** What follows `Bearer`, be it nothing; undefined for other schemes. */
const bearerToken = (authorization = '') => /^bearer(?: +|$)(.*)/i.exec(authorization)?.[1]

const userKey = ({ appId, userId }: { appId: string; userId: string }) => `${appId}:${userId}`

/** Remembers for a while what the database said, unless it was dropped while the database was being asked. */
function createMemory<Value extends string | number>() {
  const known = new LRUCache<string, Value>({ max: CACHE_ENTRIES, ttl: CACHE_MS })
  let drops = 0
  return {
    recall: async (key: string, ask: () => Promise<Value | undefined>) => {
      const hit = known.get(key)
      if (hit !== undefined) return hit
      const before = drops
      const value = await ask()
      if (value !== undefined && drops === before) known.set(key, value)
      return value
    },
    drop: (key: string) => {
      drops += 1
      known.delete(key)
    },
  }
}

const isSame = (a: string, b: string) =>
  timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
