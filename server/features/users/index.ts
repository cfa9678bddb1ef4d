import { contract } from '@parley/contract'
import type { Caller, UserAdminAccess, WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { containing } from '../../db/sql.ts'
import { deleteUsers } from './delete.ts'
import { upsertUsers } from './upsert.ts'
import { selectProfiles } from './view.ts'

const list = implementWithoutTransaction(
  contract.users.list,
  async ({ db, caller: { appId } }, { limit, offset, q }) => {
    const named = q === undefined ? db`true` : db`u.display_name ilike ${containing(q)}`
    const profiles = await selectProfiles(db, {
      appId,
      which: db`${named} order by u.display_name, u.id limit ${limit} offset ${offset}`,
    })
    return { users: profiles.map(({ custom, email, ...user }) => user) }
  },
)

const get = implementWithoutTransaction(contract.users.get, async ({ db, caller }, { userId }) => {
  const [profile] = await selectProfiles(db, { appId: caller.appId, which: db`u.id = ${userId}` })
  if (!profile) return fail('NOT_FOUND', 'User not found')
  const { email, ...user } = profile
  return caller.userId === null || caller.userId === userId ? { ...user, email } : user
})

const sync = implement(contract.users.sync, async (ctx, { users: rows }) => {
  const given = rows.flatMap((row) => ('user' in row ? [row.user] : []))
  requireAdminOf(
    ctx,
    given.map(({ id }) => id),
  )
  const synced = given.length === 0 ? [] : await upsertUsers(ctx, ctx.caller.appId, given)
  const created = synced.filter(({ isNew }) => isNew).length
  const errors = rows.flatMap((row) => ('error' in row ? [row.error] : []))
  return { synced: synced.length, created, updated: synced.length - created, errors }
})

const put = implement(contract.users.put, async (ctx, { userId, ...profile }) => {
  requireAdminOf(ctx, [userId])
  const [user] = await upsertUsers(ctx, ctx.caller.appId, [{ id: userId, ...profile }])
  if (!user) throw new Error('the upsert of a user answered no row')
  const { id, name, image, email, custom } = user
  return { id, name, image, email, custom: { ...custom, ...(email === null ? {} : { email }) } }
})

const remove = implement(contract.users.delete, async (ctx, { userId }) => {
  requireAdminOf(ctx, [userId])
  const [deletedUserId] = await deleteUsers(ctx, ctx.caller.appId, [userId])
  return deletedUserId === undefined
    ? fail('NOT_FOUND', 'User not found')
    : { success: true, deletedUserId }
})

const bulkDelete = implement(contract.users.bulkDelete, async (ctx, { userIds }) => {
  requireAdminOf(ctx, userIds)
  const gone = new Set(await deleteUsers(ctx, ctx.caller.appId, userIds))
  const deleted = [...new Set(userIds)].filter((id) => gone.has(id))
  return { success: true, deleted, count: deleted.length }
})

export const users = {
  list,
  get,
  sync,
  put,
  delete: remove,
  bulkDelete,
} satisfies Implements<'users'>

const requireAdminOf = (
  { caller, services }: Pick<WriteContext<'userOrKey'>, 'caller' | 'services'>,
  userIds: string[],
) =>
  mayAdminister(caller, services.userAdminAccess, userIds) ||
  fail('FORBIDDEN', 'Only a backend or an admin token administers other users')

/** A backend administers everybody, everybody themselves; holders of other tokens as USER_ADMIN_ACCESS says (DESIGN §6). */
export const mayAdminister = (
  caller: Caller<'userOrKey'>,
  access: UserAdminAccess,
  userIds: string[],
) =>
  caller.userId === null ||
  access === 'bearer' ||
  caller.admin ||
  userIds.every((id) => id === caller.userId)
