import { contract, limits } from '@parley/contract'
import { noteAct } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implement } from '../core/operation.ts'
import { userNotFound } from '../core/refusals.ts'
import { upsertUsers } from './users/upsert.ts'

const create = implement(
  contract.tokens.create,
  async (ctx, { userId, admin = false, ...profile }) => {
    const { appId, scopes } = ctx.caller
    const { tokens, wsUrl } = ctx.services
    // It may do to other users what only a key for everything may.
    if (admin && scopes?.includes('full') === false)
      throw new ApiError('FORBIDDEN', 'admin: expected an API key with the scope full')
    const [user] = await upsertUsers(ctx, appId, [{ id: userId, ...profile, isActive: true }])
    if (!user) throw new Error('the upsert of a user returned no row')
    const claims = { appId, userId, generation: user.tokenGeneration, isAdmin: admin }
    const [token, wsToken] = await Promise.all([
      tokens.sign('api', claims),
      tokens.sign('ws', claims),
    ])
    // Those of users are made by the thousand, and can do what their user can.
    if (admin) noteAct(ctx, { operation: 'tokens.create', target: { userId, admin } })
    const { name, image, email } = user
    return {
      token,
      wsToken,
      user: { id: userId, name, image, ...(email === null ? {} : { email }) },
      expiresIn: limits.tokenLifetimeSeconds,
      appId,
      wsUrl,
    }
  },
)

const revoke = implement(contract.tokens.revoke, async (ctx, { userId }) => {
  const { db, caller, services } = ctx
  const { appId } = caller
  const [revoked] = await db<{ generation: number }[]>`
    update users
    set token_generation = token_generation + 1
    where app_id = ${appId}
      and id = ${userId}
      and deleted_at is null
    returning token_generation as generation`
  if (!revoked) throw userNotFound()
  noteAct(ctx, { operation: 'tokens.revoke', target: { userId } })
  ctx.afterCommit(() => services.revocations.publish({ appId, userId, ...revoked }))
  return { success: true }
})

export const tokens = { create, revoke } satisfies Implements<'tokens'>
