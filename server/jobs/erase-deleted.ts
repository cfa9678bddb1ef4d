import type { Tx } from '../db/client.ts'
import { eraseUsers } from './erasure.ts'
import type { ErasureContext } from './erasure-context.ts'
import { BATCH } from './retention.ts'

/**
 * Erases deleted users, those of an app in the order of their deletion. Apps take turns, and one
 * that had more than there was time for has the next turn after all others: however many users it
 * deletes, those of another app are erased soon.
 */
export function createErasureOfDeleted() {
  let lastAppId = ''
  const eraseInApp = async (context: ErasureContext, appId: string) => {
    context.checkpoint()
    lastAppId = appId
    const users = await context.db.use((db) => selectDeleted(db, appId))
    await eraseUsers(context, { appId, userIds: users.map(({ id }) => id) })
  }
  return async (context: ErasureContext) => {
    const appIds = (await context.db.use(selectApps)).map(({ appId }) => appId)
    const isNext = (appId: string) => appId > lastAppId
    const inTurn = [...appIds.filter(isNext), ...appIds.filter((id) => !isNext(id))]
    for (const appId of inTurn) await context.attempt(() => eraseInApp(context, appId))
  }
}

/** The apps with deleted users, each found as the first after the one before it. */
const selectApps = (db: Tx) => db<{ appId: string }[]>`
  with recursive due as (
    (
      select app_id
      from users
      where deleted_at is not null
        and forgotten_at is null
      order by app_id, deleted_at
      limit 1
    )
    union all
    select next.app_id
    from due
    cross join lateral (
      select app_id
      from users
      where deleted_at is not null
        and forgotten_at is null
        and app_id > due.app_id
      order by app_id, deleted_at
      limit 1
    ) next
  )
  select app_id
  from due
  order by app_id`

const selectDeleted = (db: Tx, appId: string) => db<{ id: string }[]>`
  select id
  from users
  where app_id = ${appId}
    and deleted_at is not null
    and forgotten_at is null
  order by app_id, deleted_at
  limit ${BATCH}`
