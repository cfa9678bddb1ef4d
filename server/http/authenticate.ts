import { timingSafeEqual } from 'node:crypto'
import type { Auth } from '@parley/contract'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../context.ts'
import type { Db } from '../db/client.ts'
import { fail } from '../failure.ts'
import { sha256, type Tokens } from '../tokens.ts'

/** The credentials of a request, as its headers carry them. */
export type Credentials = { authorization?: string | undefined; apiKey?: string | undefined; adminKey?: string | undefined }
export type Authenticate = (auth: Auth, credentials: Credentials) => Promise<Caller>

/** How long a revoked token or a deleted key may still be taken for valid by another node. */
const CACHE_MS = 5_000
const CACHE_ENTRIES = 20_000

/** Tells who calls, or refuses: UNAUTHORIZED without credentials of the wanted kind, INVALID_TOKEN for a bad bearer token. */
export function createAuthenticate({ db, tokens, adminKey }: { db: Db; tokens: Tokens; adminKey: string | undefined }): Authenticate {
  const generations = new LRUCache<string, number>({ max: CACHE_ENTRIES, ttl: CACHE_MS })
  const apps = new LRUCache<string, string>({ max: CACHE_ENTRIES, ttl: CACHE_MS })

  const user = async (authorization: string | undefined) => {
    const token = /^bearer(?: +(.*))?$/i.exec(authorization ?? '')
    if (!token) return fail('UNAUTHORIZED', 'Authorization: Bearer <token> is required')
    const claims = await tokens.verify('api', token[1] ?? '')
    if (claims === 'expired') return fail('INVALID_TOKEN', 'The token has expired')
    if (claims === 'invalid') return fail('INVALID_TOKEN', 'The token is invalid')
    const { appId, userId, admin, generation } = claims
    return (await currentGeneration(appId, userId)) === generation ? { appId, userId, admin } : fail('INVALID_TOKEN', 'The token has been revoked')
  }
  const currentGeneration = async (appId: string, userId: string) => {
    const cacheKey = `${appId}:${userId}`
    const known = generations.get(cacheKey)
    if (known !== undefined) return known
    const [row] = await db<{ tokenGeneration: number }[]>`select token_generation from users where app_id = ${appId} and id = ${userId} and deleted_at is null`
    if (row) generations.set(cacheKey, row.tokenGeneration)
    return row?.tokenGeneration
  }

  const app = async (apiKey: string | undefined) => {
    const hash = sha256(apiKey ?? '')
    const known = apps.get(hash)
    if (known !== undefined) return { appId: known }
    const [row] = apiKey ? await db<{ appId: string }[]>`select app_id from api_keys where hash = ${hash}` : []
    if (!row) return fail('UNAUTHORIZED', 'X-API-Key is missing or unknown')
    apps.set(hash, row.appId)
    return row
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

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
