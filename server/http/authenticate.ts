import { timingSafeEqual } from 'node:crypto'
import { type Auth, isUserId, systemUserId } from '@parley/contract'
import type { Caller } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import type { createRateLimits } from './rate-limits.ts'
import type { OnNamed } from './request-facts.ts'
import { createVerifyKey } from './verify-key.ts'
import { createVerifyToken } from './verify-token.ts'

/** The credentials in a request's headers, and the address that they came from. */
export type Credentials = {
  ip: string
  authorization?: string | undefined
  apiKey?: string | undefined
  adminKey?: string | undefined
  /** The user that a backend acts as. */
  userId?: string | undefined
}
/**
 * `until` is the deadline of the call. `onNamed` is called with the app and user that good
 * credentials name, even if they are refused.
 */
export type Authenticate = (
  auth: Auth,
  credentials: Credentials,
  until: number,
  onNamed: OnNamed,
) => Promise<Caller>

type AuthenticateOptions = Parameters<typeof createVerifyToken>[0] &
  Parameters<typeof createVerifyKey>[0] & {
    adminKey: string | undefined
    /** Counts a wrong admin key; throws if its address sent too many. */
    takeWrongAdminKey: ReturnType<typeof createRateLimits>['takeWrongAdminKey']
  }

/**
 * Identifies the caller. Throws UNAUTHORIZED if the required credentials are missing, INVALID_TOKEN
 * if the bearer token is not valid.
 */
export function createAuthenticate({ adminKey, ...options }: AuthenticateOptions): Authenticate {
  const verifyToken = createVerifyToken(options)
  const verifyKey = createVerifyKey(options)
  const { takeWrongAdminKey } = options

  /** A user that a backend acts as; whether they exist is checked later. */
  const actingUser = async (
    { userId = '', ...credentials }: Credentials,
    token: string | undefined,
    until: number,
    onNamed: OnNamed,
  ) => {
    if (token !== undefined)
      throw new ApiError('UNAUTHORIZED', 'X-User-Id: expected X-API-Key, and no bearer token')
    const isUser = isUserId(userId) && userId !== systemUserId
    const onApp: OnNamed = ({ appId }) => onNamed(isUser ? { appId, userId } : { appId })
    const key = await verifyKey(credentials, until, onApp)
    if (!isUser) throw new ApiError('UNAUTHORIZED', 'X-User-Id: expected a user id')
    return { ...key, userId, isAdmin: false }
  }

  const admin = ({ adminKey: given, ip }: Credentials) => {
    if (adminKey !== undefined && given !== undefined && isSame(given, adminKey)) return {}
    if (given !== undefined) takeWrongAdminKey(ip)
    throw new ApiError('UNAUTHORIZED', 'X-Admin-Key: expected the admin key')
  }

  return async (auth, credentials, until, onNamed) => {
    if (auth === 'none') return {}
    if (auth === 'admin') return admin(credentials)
    if (auth === 'key' && credentials.userId !== undefined)
      throw new ApiError('UNAUTHORIZED', 'X-User-Id: this operation cannot be called as a user')
    if (auth === 'key') return verifyKey(credentials, until, onNamed)
    const token = bearerToken(credentials.authorization)
    if (credentials.userId !== undefined) return actingUser(credentials, token, until, onNamed)
    if (token !== undefined || credentials.apiKey === undefined)
      return verifyToken(token, until, onNamed)
    if (auth === 'user') throw new ApiError('UNAUTHORIZED', USER_MISSING)
    return { ...(await verifyKey(credentials, until, onNamed)), userId: null }
  }
}

const USER_MISSING = 'X-User-Id: expected beside X-API-Key, or Authorization: Bearer <token>'

/** The text after `Bearer`, which may be empty; undefined for other schemes. */
export const bearerToken = (authorization = '') => /^bearer(?: +|$)(.*)/i.exec(authorization)?.[1]

const isSame = (a: string, b: string) =>
  timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
