import { timingSafeEqual } from 'node:crypto'
import type { Auth } from '@parley/contract'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../context.ts'
import type { Db, Tx } from '../db/client.ts'
import { fail } from '../failure.ts'
import { sha256, type Tokens } from '../tokens.ts'

/** The credentials of a request, as its headers carry them. */
export type Credentials = { authorization?: string | undefined; apiKey?: string | undefined; adminKey?: string | undefined }
/** `until`: when the answer must be there. */
export type Authenticate = (auth: Auth, credentials: Credentials, until: number) => Promise<Caller>

/** How long a revoked token or a deleted key may still be taken for valid by another node. */
const CACHE_MS = 5_000
const CACHE_ENTRIES = 20_000

/** Tells who calls, or refuses: UNAUTHORIZED without credentials of the wanted kind, INVALID_TOKEN for a bad bearer token. */
export function createAuthenticate({ db, tokens, adminKey }: { db: Db; tokens: Tokens; adminKey: string | undefined }): Authenticate {
  const generations = new LRUCache<string, number>({ max: CACHE_ENTRIES, ttl: CACHE_MS })
  const apps = new LRUCache<string, string>({ max: CACHE_ENTRIES, ttl: CACHE_MS })

  const user = async (token: string | undefined, until: number) => {
    if (token === undefined) return fail('UNAUTHORIZED', 'Authorization: expected Bearer <token>')
    const claims = await tokens.verify('api', token)
    if (claims === 'expired') return fail('INVALID_TOKEN', 'The token has expired')
    if (claims === 'invalid') return fail('INVALID_TOKEN', 'The token is invalid')
    const { appId, userId, admin, generation } = claims
    return (await currentGeneration({ appId, userId }, until)) === generation ? { appId, userId, admin } : fail('INVALID_TOKEN', 'The token has been revoked')
  }
  const currentGeneration = async ({ appId, userId }: { appId: string; userId: string }, until: number) => {
    const cacheKey = `${appId}:${userId}`
    const known = generations.get(cacheKey)
    if (known !== undefined) return known
    const select = (db: Tx) => db<{ tokenGeneration: number }[]>`
      select token_generation from users where app_id = ${appId} and id = ${userId} and deleted_at is null`
    const [row] = await db.use(select, until)
    if (row) generations.set(cacheKey, row.tokenGeneration)
    return row?.tokenGeneration
  }

  const app = async (apiKey: string | undefined, until: number) => {
    const hash = sha256(apiKey ?? '')
    const known = apps.get(hash)
    if (known !== undefined) return { appId: known }
    const [row] = apiKey ? await db.use((db) => db<{ appId: string }[]>`select app_id from api_keys where hash = ${hash}`, until) : []
    if (!row) return fail('UNAUTHORIZED', 'X-API-Key: expected a valid API key')
    apps.set(hash, row.appId)
    return row
  }

  const admin = async (given: string | undefined) =>
    adminKey !== undefined && given !== undefined && isSame(given, adminKey) ? {} : fail('UNAUTHORIZED', 'X-Admin-Key: expected the admin key')

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

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
