import { timingSafeEqual } from 'node:crypto'
import { type Auth, isUserId, systemUserId } from '@parley/contract'
import type { Admit } from '../core/admission.ts'
import { isApiKey } from '../core/api-keys.ts'
import type { Caller } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import { createLru } from '../core/lru.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Tokens } from '../core/tokens.ts'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import { CACHE_ENTRIES, CACHE_MS, createLookupCache } from './lookup-cache.ts'
import type { createRateLimits } from './rate-limits.ts'

/** The credentials in a request's headers, and the address that they came from. */
export type Credentials = {
  ip: string
  authorization?: string | undefined
  apiKey?: string | undefined
  adminKey?: string | undefined
  /** The user as whom a backend acts. */
  userId?: string | undefined
}
/** `until` is the deadline of the call. */
export type Authenticate = (auth: Auth, credentials: Credentials, until: number) => Promise<Caller>

type AuthenticateOptions = {
  db: Db
  admit: Admit
  tokens: Tokens
  adminKey: string | undefined
  revocations: Revocations
  /** Counts a key that is not known to be good; throws if its address sent too many bad ones. */
  takeUnknownKey: ReturnType<typeof createRateLimits>['takeUnknownKey']
}
type GenerationRow = { tokenGeneration: number }
type AppRow = { appId: string }

/**
 * Identifies the caller. Throws UNAUTHORIZED if the required credentials are missing, INVALID_TOKEN
 * if the bearer token is not valid.
 */
export function createAuthenticate({
  db,
  admit,
  tokens,
  adminKey,
  revocations,
  takeUnknownKey,
}: AuthenticateOptions): Authenticate {
  const generations = createLookupCache<number>()
  const apps = createLookupCache<string>()
  const badKeys = createLru<true>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  /** Revoked tokens, by user and generation. */
  const badTokens = createLru<true>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  /** Keys that were good when they were last looked up. */
  const goodKeys = createLru<true>({ entries: CACHE_ENTRIES })
  revocations.subscribe((revoked) => {
    if ('keyHash' in revoked) apps.drop(revoked.keyHash)
    else generations.drop(userKey(revoked))
  })

  const user = async (token: string | undefined, until: number) => {
    if (token === undefined)
      throw new ApiError('UNAUTHORIZED', 'Authorization: expected Bearer <token>')
    const claims = await tokens.verify('api', token)
    if (claims === 'expired') throw new ApiError('INVALID_TOKEN', 'The token has expired')
    if (claims === 'invalid') throw new ApiError('INVALID_TOKEN', 'The token is invalid')
    const { appId, userId, admin, generation } = claims
    const id = `${userKey(claims)}:${generation}`
    if (badTokens.has(id)) throw new ApiError('INVALID_TOKEN', 'The token has been revoked')
    let current = await currentGeneration(claims, until)
    // A token newer than the cached generation was minted after a revocation on another node.
    if (current !== undefined && current < generation) {
      generations.drop(userKey(claims))
      current = await currentGeneration(claims, until)
    }
    if (current !== generation) {
      badTokens.set(id, true)
      throw new ApiError('INVALID_TOKEN', 'The token has been revoked')
    }
    return { appId, userId, admin }
  }
  const currentGeneration = (user: UserRef, until: number) => {
    const select = (db: Tx) => db<GenerationRow[]>`
      select u.token_generation
      from users u
      where u.app_id = ${user.appId} and u.id = ${user.userId} and u.deleted_at is null`
    const { appId, userId } = user
    return generations.load(userKey(user), {
      inTurn: (look) => admit({ appId, userId, until }, look),
      select: async () => (await db.use(select, until))[0]?.tokenGeneration,
    })
  }

  const app = async ({ apiKey = '', ip }: Credentials, until: number) => {
    const keyHash = sha256(apiKey)
    const appId = isApiKey(apiKey) ? await appOf(keyHash, ip, until) : undefined
    if (appId === undefined)
      throw new ApiError('UNAUTHORIZED', 'X-API-Key: expected a valid API key')
    return { appId, keyHash }
  }
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

  /** A user as whom a backend acts; whether they exist is found out later. */
  const actingUser = async (
    { userId = '', ...credentials }: Credentials,
    token: string | undefined,
    until: number,
  ) => {
    if (token !== undefined)
      throw new ApiError('UNAUTHORIZED', 'X-User-Id: expected X-API-Key, and no bearer token')
    const { appId, keyHash } = await app(credentials, until)
    if (!isUserId(userId) || userId === systemUserId)
      throw new ApiError('UNAUTHORIZED', 'X-User-Id: expected a user id')
    return { appId, userId, admin: false, keyHash }
  }

  const admin = (given: string | undefined) => {
    if (adminKey === undefined || given === undefined || !isSame(given, adminKey))
      throw new ApiError('UNAUTHORIZED', 'X-Admin-Key: expected the admin key')
    return {}
  }

  return async (auth, credentials, until) => {
    if (auth === 'none') return {}
    if (auth === 'admin') return admin(credentials.adminKey)
    if (auth === 'key' && credentials.userId !== undefined)
      throw new ApiError('UNAUTHORIZED', 'X-User-Id: this operation is not one of a user')
    if (auth === 'key') return app(credentials, until)
    const token = bearerToken(credentials.authorization)
    if (credentials.userId !== undefined) return actingUser(credentials, token, until)
    const isUser = auth === 'user' || token !== undefined || credentials.apiKey === undefined
    if (isUser) return user(token, until)
    return { ...(await app(credentials, until)), userId: null }
  }
}

/** The text after `Bearer`, which may be empty; undefined for other schemes. */
const bearerToken = (authorization = '') => /^bearer(?: +|$)(.*)/i.exec(authorization)?.[1]

const isSame = (a: string, b: string) =>
  timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
