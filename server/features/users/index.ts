import { contract } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import type { Caller, UserAdminAccess, WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { userNotFound } from '../../core/refusals.ts'
import { deleteUsers } from './delete.ts'
import { exportUser } from './export.ts'
import { listUsers, listUsersById } from './list.ts'
import { upsertUsers } from './upsert.ts'
import { selectProfiles } from './view.ts'

const list = implementWithoutTransaction(
  contract.users.list,
  async ({ db, caller: { appId } }, { limit, offset, cursor, q, ids }) => {
    if (ids !== undefined) return listUsersById(db, { appId, ids, cursor })
    return listUsers(db, { appId, limit, offset, cursor, q })
  },
)

const get = implementWithoutTransaction(contract.users.get, async ({ db, caller }, { userId }) => {
  const [profile] = await selectProfiles(db, { appId: caller.appId, which: db`u.id = ${userId}` })
  if (!profile) throw userNotFound()
  const { email, ...user } = profile
  const maySeeEmail = caller.userId === null || caller.userId === userId
  return maySeeEmail ? { ...user, email } : user
})

const sync = implement(contract.users.sync, async (ctx, { users: rows }) => {
  const valid = rows.flatMap((row) => ('user' in row ? [row.user] : []))
  const errors = rows.flatMap((row) => ('error' in row ? [row.error] : []))
  const ids = valid.map(({ id }) => id)
  requireAdminOf(ctx, ids)
  const synced = valid.length === 0 ? [] : await upsertUsers(ctx, ctx.caller.appId, valid)
  const created = synced.filter(({ isNew }) => isNew).length
  if (synced.length > 0)
    noteAct(ctx, { operation: 'users.sync', target: { count: synced.length, created } })
  return { synced: synced.length, created, updated: synced.length - created, errors }
})

const put = implement(contract.users.put, async (ctx, { userId, ...profile }) => {
  requireAdminOf(ctx, [userId])
  const [user] = await upsertUsers(ctx, ctx.caller.appId, [{ id: userId, ...profile }])
  if (!user) throw new Error('the upsert of a user returned no row')
  // A backend does this at each login, and users to their own profile.
  const { caller } = ctx
  if (caller.userId !== null && caller.userId !== userId)
    noteAct(ctx, { operation: 'users.put', target: { userId } })
  const { id, name, image, email, custom } = user
  return { id, name, image, email, custom: { ...custom, ...(email === null ? {} : { email }) } }
})

const remove = implement(contract.users.delete, async (ctx, { userId }) => {
  requireAdminOf(ctx, [userId])
  const [deletedUserId] = await deleteUsers(ctx, ctx.caller.appId, [userId])
  if (deletedUserId === undefined) throw userNotFound()
  noteAct(ctx, { operation: 'users.delete', target: { userId } })
  return { success: true, deletedUserId }
})

const bulkDelete = implement(contract.users.bulkDelete, async (ctx, { userIds }) => {
  requireAdminOf(ctx, userIds)
  const deletedIds = new Set(await deleteUsers(ctx, ctx.caller.appId, userIds))
  const deleted = [...new Set(userIds)].filter((id) => deletedIds.has(id))
  if (deleted.length > 0)
    noteAct(ctx, { operation: 'users.bulkDelete', target: { userIds: deleted } })
  return { success: true, deleted, count: deleted.length }
})

export const users = {
  list,
  get,
  sync,
  put,
  delete: remove,
  bulkDelete,
  export: exportUser,
} satisfies Implements<'users'>

function requireAdminOf(
  { caller, services }: Pick<WriteContext<'userOrKey'>, 'caller' | 'services'>,
  userIds: string[],
) {
  const access = caller.settings?.userAdminAccess ?? services.userAdminAccess
  if (!mayAdminister(caller, access, userIds)) {
    throw new ApiError('FORBIDDEN', 'Only an API key or an admin token can administer other users')
  }
}

/**
 * Backends may administer all users, and users themselves. USER_ADMIN_ACCESS decides whether any
 * user's token may administer others.
 */
const mayAdminister = (caller: Caller<'userOrKey'>, access: UserAdminAccess, userIds: string[]) =>
  caller.userId === null ||
  access === 'bearer' ||
  caller.isAdmin ||
  userIds.every((id) => id === caller.userId)
