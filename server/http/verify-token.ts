import type { Admit } from '../core/admission.ts'
import { type AppFacts, appFacts } from '../core/app-facts.ts'
import { ApiError } from '../core/errors.ts'
import { createLru } from '../core/lru.ts'
import { tokenRevoked } from '../core/refusals.ts'
import type { Revocations } from '../core/revocations.ts'
import type { Tokens } from '../core/signed-tokens.ts'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import { CACHE_ENTRIES, CACHE_MS, createLookupCache } from './lookup-cache.ts'
import type { OnNamed } from './request-facts.ts'
import { requireEnabled } from './require-enabled.ts'

type VerifyTokenOptions = { db: Db; admit: Admit; tokens: Tokens; revocations: Revocations }
type UserFacts = AppFacts & { tokenGeneration: number; isScreened: boolean }

/** Returns the user of a bearer token, by its claims and the current generation of their tokens. */
export function createVerifyToken({ db, admit, tokens, revocations }: VerifyTokenOptions) {
  const users = createLookupCache<UserFacts>()
  /** Revoked tokens, by user and generation. */
  const badTokens = createLru<true>({ entries: CACHE_ENTRIES, ttl: CACHE_MS })
  revocations.subscribe((revoked) => {
    if ('userId' in revoked) users.drop(userKey(revoked))
    if ('isClosed' in revoked) users.dropAll()
  })

  const currentFacts = (user: UserRef, until: number) => {
    const select = (db: Tx) => db<UserFacts[]>`
      select
        u.token_generation,
        exists (
          select
          from before_send_hooks bsh
          where bsh.app_id = u.app_id
        ) as is_screened,
        ${appFacts(db)}
      from users u
      join apps a on a.id = u.app_id and num_nulls(a.deleted_at) = 1
      where u.app_id = ${user.appId}
        and u.id = ${user.userId}
        and u.deleted_at is null`
    const { appId } = user
    return users.load(userKey(user), {
      // Queues of its app and user may be full of calls that wait for locks. A look-up waits for
      // none, so it has a queue of its own, like that of a key.
      inTurn: (look) => admit({ appId, queue: 'tokens', until }, look),
      select: async () => (await db.use(select, until))[0],
    })
  }

  return async (token: string | undefined, until: number, onNamed: OnNamed) => {
    if (token === undefined)
      throw new ApiError('UNAUTHORIZED', 'Authorization: expected Bearer <token>')
    const claims = await tokens.verify('api', token)
    if ('refusal' in claims) {
      if (claims.user) onNamed(claims.user)
      const problem = claims.refusal === 'expired' ? 'has expired' : 'is invalid'
      throw new ApiError('INVALID_TOKEN', `The token ${problem}`)
    }
    onNamed(claims)
    const { appId, userId, isAdmin, generation } = claims
    const id = `${userKey(claims)}:${generation}`
    if (badTokens.has(id)) throw tokenRevoked()
    let current = await currentFacts(claims, until)
    // A token newer than the cached generation was minted after a revocation on another node.
    if (current !== undefined && current.tokenGeneration < generation) {
      users.drop(userKey(claims))
      current = await currentFacts(claims, until)
    }
    if (current?.tokenGeneration !== generation) {
      badTokens.set(id, true)
      throw tokenRevoked()
    }
    requireEnabled(current)
    const { isScreened, userAdminAccess, rateLimits } = current
    return { appId, userId, isAdmin, isScreened, settings: { userAdminAccess, rateLimits } }
  }
}
