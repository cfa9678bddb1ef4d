import { contract } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { decodeIdCursor, encodeCursor, toPage } from '../cursors.ts'
import { createApp } from './create.ts'
import { createKey, deleteKey, listKeys, updateKey } from './keys.ts'
import { usage } from './usage.ts'
import { appById, appNotFound, selectApps } from './view.ts'

const list = implementWithoutTransaction(
  contract.apps.list,
  async ({ db }, { limit, offset, cursor }) => {
    const after = cursor === undefined ? db`true` : db`a.id > ${decodeIdCursor(cursor)}`
    const apps = await selectApps(
      db,
      db`
        ${after}
        order by a.id
        limit ${limit + 1}
        offset ${offset}`,
    )
    const { page, nextCursor } = toPage(apps, limit, ({ id }) => encodeCursor(id, ''))
    return { apps: page, nextCursor }
  },
)

const create = implement(contract.apps.create, async (ctx, { name }) => {
  const app = await createApp(ctx.db, name)
  const { id: appId, keyId } = app
  noteAct(ctx, { operation: 'apps.create', appId, target: { name, keyId } })
  return app
})

const get = implementWithoutTransaction(contract.apps.get, ({ db }, { appId }) =>
  appById(db, appId),
)

const update = implement(contract.apps.update, async (ctx, { appId, ...changes }) => {
  const { db, services } = ctx
  const { name = null, enabled = null, settings = {} } = changes
  const { messageRetentionDays, userAdminAccess, rateLimits = {} } = settings
  // Nothing is changed, so there is nothing to note.
  if (name === null && enabled === null && Object.keys(settings).length === 0)
    return appById(db, appId)
  const { count } = await db`
    update apps a
    set
      name = coalesce(${name}, a.name),
      disabled_at = case
        when ${enabled}::boolean then null
        when not ${enabled}::boolean then coalesce(a.disabled_at, now())
        else a.disabled_at
      end,
      message_retention_days = case
        when ${messageRetentionDays !== undefined} then ${messageRetentionDays ?? null}::int
        else a.message_retention_days
      end,
      user_admin_access = case
        when ${userAdminAccess !== undefined} then ${userAdminAccess ?? null}
        else a.user_admin_access
      end,
      rate_limits = jsonb_strip_nulls(coalesce(a.rate_limits, '{}') || ${db.json(rateLimits)})
    where a.id = ${appId}
      and num_nulls(a.deleted_at) = 1`
  if (count === 0) throw appNotFound()
  noteAct(ctx, { operation: 'apps.update', appId, target: changes })
  ctx.afterCommit(() => services.revocations.publish({ appId, isClosed: enabled === false }))
  return appById(db, appId)
})

const remove = implement(contract.apps.delete, async (ctx, { appId }) => {
  const { db, services } = ctx
  const [app] = await db<{ name: string }[]>`
    update apps a
    set deleted_at = now()
    where a.id = ${appId}
      and num_nulls(a.deleted_at) = 1
    returning a.name`
  if (!app) throw appNotFound()
  // The purge takes its time, and their deliveries do not ask for the app.
  await db`
    update webhooks
    set enabled = false
    where app_id = ${appId}`
  noteAct(ctx, { operation: 'apps.delete', appId, target: { name: app.name } })
  ctx.afterCommit(() => {
    services.revocations.publish({ appId, isClosed: true })
    services.erasure.wake()
  })
  return { success: true }
})

export const apps = {
  list,
  create,
  get,
  update,
  delete: remove,
  usage,
  listKeys,
  createKey,
  updateKey,
  deleteKey,
} satisfies Implements<'apps'>
