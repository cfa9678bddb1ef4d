import { timingSafeEqual } from 'node:crypto'
import type { Auth } from '@parley/contract'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../context.ts'
import type { Db } from '../db/client.ts'
import { fail } from '../failure.ts'
import type { Revocations } from '../revocations.ts'
import { sha256, type Tokens } from '../tokens.ts'

/** The credentials of a request, as its headers carry them. */
export type Credentials = { authorization?: string | undefined; apiKey?: string | undefined; adminKey?: string | undefined }
export type Authenticate = (auth: Auth, credentials: Credentials) => Promise<Caller>

/** How long a revoked token or a deleted key may still be taken for valid by another node. */
const CACHE_MS = 5_000
const CACHE_ENTRIES = 20_000

type Options = { db: Db; tokens: Tokens; adminKey: string | undefined; revocations: Revocations }

/** Tells who calls, or refuses: UNAUTHORIZED without credentials of the wanted kind, INVALID_TOKEN for a bad bearer token. */
export function createAuthenticate({ db, tokens, adminKey, revocations }: Options): Authenticate {
  const generations = createMemory<number>()
  const apps = createMemory<string>()
  revocations.subscribe((revoked) => ('keyHash' in revoked ? apps.drop(revoked.keyHash) : generations.drop(userKey(revoked))))

  const user = async (authorization: string | undefined) => {
    const token = /^bearer(?: +(.*))?$/i.exec(authorization ?? '')
    if (!token) return fail('UNAUTHORIZED', 'Authorization: Bearer <token> is required')
    const claims = await tokens.verify('api', token[1] ?? '')
    if (claims === 'expired') return fail('INVALID_TOKEN', 'The token has expired')
    if (claims === 'invalid') return fail('INVALID_TOKEN', 'The token is invalid')
    const { appId, userId, admin, generation } = claims
    const known = await currentGeneration(appId, userId)
    // A token newer than what is remembered was minted after a revocation on another node.
    const current = known !== undefined && known < generation ? await askAgain(appId, userId) : known
    return current === generation ? { appId, userId, admin } : fail('INVALID_TOKEN', 'The token has been revoked')
  }
  const currentGeneration = (appId: string, userId: string) =>
    generations.recall(userKey({ appId, userId }), async () => {
      const [row] = await db<{ tokenGeneration: number }[]>`select token_generation from users where app_id = ${appId} and id = ${userId} and deleted_at is null`
      return row?.tokenGeneration
    })
  const askAgain = (appId: string, userId: string) => {
    generations.drop(userKey({ appId, userId }))
    return currentGeneration(appId, userId)
  }

  const app = async (apiKey: string | undefined) => {
    const hash = sha256(apiKey ?? '')
    const appId = await apps.recall(hash, async () => (apiKey ? (await db<{ appId: string }[]>`select app_id from api_keys where hash = ${hash}`)[0]?.appId : undefined))
    return appId === undefined ? fail('UNAUTHORIZED', 'X-API-Key is missing or unknown') : { appId }
  }

  const admin = async (given: string | undefined) =>
    adminKey !== undefined && given !== undefined && isSame(given, adminKey) ? {} : fail('UNAUTHORIZED', 'X-Admin-Key is missing or wrong')

  return async (auth, { authorization, apiKey, adminKey }) => {
    if (auth === 'user') return user(authorization)
    if (auth === 'key') return app(apiKey)
    if (auth === 'admin') return admin(adminKey)
    if (auth === 'none') return {}
    if (authorization !== undefined) return user(authorization)
    return { ...(await app(apiKey)), userId: null }
  }
}

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

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
