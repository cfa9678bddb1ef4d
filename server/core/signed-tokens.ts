import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { limits } from '@parley/contract'
import * as joseErrors from 'jose/errors'
import { SignJWT } from 'jose/jwt/sign'
import { jwtVerify } from 'jose/jwt/verify'
import { z } from 'zod'
import { copyOf } from './copy-of.ts'
import { sha256 } from './hash.ts'
import { createLru } from './lru.ts'
import type { UserRef } from './user-ref.ts'

/** The user that a token identifies. */
export type Claims = {
  appId: string
  userId: string
  generation: number
  isAdmin: boolean
  expiresAt: number
}
/** Why a token is not accepted, and whose it was: of one that we did not sign that is unknown. */
type RefusedToken = { refusal: 'expired' | 'invalid'; user?: UserRef }
type Purpose = 'api' | 'ws'
export type Tokens = Awaited<ReturnType<typeof createTokens>>

const ISSUER = 'parley'
const ALGORITHM = 'HS256'
/** A token may be from the future: the clock of the node that signed it may be ahead of ours. */
const Payload = z
  .object({
    sub: z.string().regex(/^[!-~]+$/),
    app: z.uuid(),
    gen: z.int(),
    iat: z.number(),
    exp: z.number(),
    admin: z.boolean().default(false),
  })
  .refine(({ iat, exp }) => exp - iat <= limits.tokenLifetimeSeconds)
const audience = { api: 'parley-api', ws: 'parley-ws' } as const

/**
 * The last part is the one spelling of 32 bytes. Base64 has others, of any length with blanks:
 * whoever has a token could fill memory with tokens that are remembered as verified.
 */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/

/**
 * Signs and verifies user tokens (HS256). The first secret signs; all secrets verify, and `kid`
 * names the one that signed. API and WebSocket tokens differ in audience and subject, so that
 * neither is accepted in place of the other.
 */
export async function createTokens(secrets: readonly string[]) {
  const keys = new Map(await Promise.all(secrets.map(importKey)))
  const [signing] = keys
  if (!signing) throw new Error('a secret is needed to sign tokens')
  const [kid, key] = signing
  const verified = createLru<Claims>({ entries: 20_000 })

  const sign = (
    purpose: Purpose,
    { appId, userId, generation, isAdmin }: Omit<Claims, 'expiresAt'>,
  ) => {
    // Read once: a second that begins between two readings would make the lifetime too long.
    const issuedAt = Math.floor(Date.now() / 1000)
    return new SignJWT({ app: appId, gen: generation, ...(isAdmin ? { admin: true } : {}) })
      .setProtectedHeader({ alg: ALGORITHM, kid })
      .setIssuer(ISSUER)
      .setAudience(audience[purpose])
      .setSubject(subjectPrefix(purpose, appId) + userId)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + limits.tokenLifetimeSeconds)
      .sign(key)
  }

  /** The claims of a valid token, or why it is refused. The caller checks whether it is revoked. */
  const verify = async (
    purpose: Purpose,
    token: string,
    now = Date.now(),
  ): Promise<Claims | RefusedToken> => {
    const cacheKey = `${purpose}:${token}`
    const known = verified.get(cacheKey)
    if (known) {
      return known.expiresAt * 1000 > now ? known : refused('expired', known)
    }
    if (!TOKEN.test(token)) return { refusal: 'invalid' }
    try {
      const { payload } = await jwtVerify(
        token,
        (header) =>
          keys.get(header.kid ?? '') ?? Promise.reject(new joseErrors.JWKSNoMatchingKey()),
        {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: audience[purpose],
          requiredClaims: ['sub', 'app', 'gen', 'jti', 'iat', 'exp'],
          currentDate: new Date(now),
        },
      )
      const claims = claimsOf(purpose, payload)
      if (!claims) return { refusal: 'invalid' }
      verified.set(copyOf(cacheKey), claims)
      return claims
    } catch (error) {
      // Its signature was good, and its time is checked last.
      if (error instanceof joseErrors.JWTExpired)
        return refused('expired', claimsOf(purpose, error.payload))
      if (isMisused(error)) return refused('invalid', claimsOf(otherThan[purpose], error.payload))
      if (error instanceof joseErrors.JOSEError) return { refusal: 'invalid' }
      throw error
    }
  }
  const sessions = createSessionIds(secrets)
  return { sign, verify, ...sessions }
}

/**
 * Ids of connections that are not WebSockets. Whoever knows one acts as the connection, so they
 * cannot be guessed; and each node can tell those of other nodes from what was made up.
 */
function createSessionIds(secrets: readonly string[]) {
  const macOf = (secret: string, text: string) =>
    createHmac('sha256', secret).update(`parley-session:${text}`).digest('base64url')
  const [first = ''] = secrets
  return {
    newSessionId: (nodeId: string) => {
      const random = randomBytes(24).toString('base64url')
      return `${random}.${macOf(first, `${random}:${nodeId}`)}`
    },
    /** Whether a node of this id has issued the session. */
    isSessionId: (id: string, nodeId: string) => {
      if (!SESSION_ID.test(id)) return false
      const [random, mac = ''] = id.split('.')
      // As text: of the same bytes there are several spellings.
      const given = Buffer.from(mac)
      const isMacOf = (secret: string) =>
        timingSafeEqual(Buffer.from(macOf(secret, `${random}:${nodeId}`)), given)
      return secrets.some(isMacOf)
    },
  }
}
const SESSION_ID = /^[\w-]{32}\.[\w-]{43}$/

/** Why a token is refused, and whose it is if we have signed it. */
function refused(refusal: 'expired' | 'invalid', claims: Claims | undefined): RefusedToken {
  if (!claims) return { refusal: 'invalid' }
  const { appId, userId } = claims
  return { refusal, user: { appId, userId } }
}

/** A token that we did sign, for the other purpose: an easy mistake to make. */
const isMisused = (error: unknown): error is joseErrors.JWTClaimValidationFailed =>
  error instanceof joseErrors.JWTClaimValidationFailed && error.claim === 'aud'

const otherThan = { api: 'ws', ws: 'api' } as const

function claimsOf(purpose: Purpose, payload: unknown): Claims | undefined {
  const { data } = Payload.safeParse(payload)
  if (!data) return undefined
  const prefix = subjectPrefix(purpose, data.app)
  if (!data.sub.startsWith(prefix)) return undefined
  return {
    appId: data.app,
    userId: data.sub.slice(prefix.length),
    generation: data.gen,
    isAdmin: data.admin,
    expiresAt: data.exp,
  }
}

const subjectPrefix = (purpose: Purpose, appId: string) => (purpose === 'api' ? '' : `${appId}:`)

async function importKey(secret: string) {
  const bytes = new TextEncoder().encode(secret)
  const key = await crypto.subtle.importKey(
    'raw',
    bytes,
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  )
  return [sha256(secret).slice(0, 8), key] as const
}
