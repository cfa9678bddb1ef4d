import { limits, topics } from '@parley/contract'
import { deleteEntries, noteJob } from '../core/audit.ts'
import { runInTransaction } from '../core/context.ts'
import type { EventPublisher } from '../core/event-bus.ts'
import type { JobStaging } from '../core/jobs.ts'
import { replayKey } from '../core/webhook-replays.ts'
import type { DbConnection, Tx } from '../db/client.ts'
import { FIRST_ID, inApp } from '../db/sql.ts'
import {
  deleteOwned,
  type Owned,
  type RetentionContext,
  repeatUntilNone,
} from './delete-in-steps.ts'
import { deleteGivenUpOf } from './given-up.ts'
import { purgeChannel } from './purge-channels.ts'

/** How many channels, or users with topics of their own, are looked up at once. */
const FOUND = 200

type AppPurgeContext = RetentionContext & {
  publisher: EventPublisher
  staging: JobStaging | undefined
}
/**
 * `wasShown` is false for an app whose import was never finished: the devices of its users belong
 * to another service.
 */
type DeletedApp = { id: string; wasShown: boolean }

/**
 * Deletes everything of deleted apps in short statements, and then their rows. What fails is left
 * to the next pass; nothing else waits for it, and what is done stays done. An app for which a turn
 * is too short goes on after those that wait.
 */
export function createAppPurge() {
  let begun: string | undefined
  return async (context: AppPurgeContext) => {
    await context.db.use(deleteUnfinished)
    const deleted = await context.db.use(selectDeleted)
    const next = deleted.findIndex(({ id }) => id === begun) + 1
    for (const app of [...deleted.slice(next), ...deleted.slice(0, next)]) {
      begun = app.id
      await context.attempt(() => purgeApp(context, app))
    }
  }
}

const selectDeleted = (db: DbConnection) => db<DeletedApp[]>`
  select a.id, a.deleted_at > '-infinity' as was_shown
  from apps a
  where a.deleted_at is not null
    and a.deleted_at < 'infinity'
  order by a.deleted_at
  limit 100`

/** Apps whose import nobody has finished. */
const deleteUnfinished = (db: DbConnection) => db`
  with abandoned as (
    delete from app_imports
    where app_id in (
      select a.id
      from apps a
      where a.deleted_at = 'infinity'
        and app_imports.updated_at < now() - ${limits.imports.unfinishedDays} * interval '1 day'
    )
    returning app_id
  )
  update apps
  set deleted_at = '-infinity'
  where id in (
    select app_id
    from abandoned
  )`

async function purgeApp(context: AppPurgeContext, { id: appId, ...app }: DeletedApp) {
  const isEmpty = await purgeChannelsOf(context, appId)
  await purgeStreams(context, appId)
  const owner = { column: 'app_id', id: appId } as const
  for (const rows of rowsOfApp) await deleteOwned(context, rows, owner)
  // Channels refer to users and workspaces.
  if (!isEmpty) return
  await removeUsers(context, { appId, ...app })
  await deleteOwned(context, { table: 'workspaces' }, owner)
  for (const remove of lastRowsOf(appId)) await repeatUntilNone(context, remove)
  await deleteGivenUpOf(context, appId)
  context.checkpoint()
  await context.db.use((connection, signal) =>
    runInTransaction(connection, { appId, signal, publisher: context.publisher }, async (ctx) => {
      await ctx.db`
        delete from apps
        where id = ${appId}
          and deleted_at is not null`
      await noteJob(ctx.db, { operation: 'apps.purged', appId, target: {} })
    }),
  )
}

/** Purges channels, each of which fails alone. Returns whether none is left. */
async function purgeChannelsOf(context: AppPurgeContext, appId: string) {
  const { db, attempt } = context
  let isEmpty = true
  let after = FIRST_ID
  for (;;) {
    const found = await db.use(
      (db) => db<{ id: string }[]>`
        select c.id
        from channels c
        where ${inApp(db, db`c`, { appId, after })}
        order by c.app_id, c.id
        limit ${FOUND}`,
    )
    for (const { id } of found) {
      const purge = async () => {
        await purgeTopic(context, topics.channel(appId, id))
        // The channels of an unfinished import have the time 'infinity'.
        await db.use(
          (db) => db`
            update channels
            set deleted_at = least(deleted_at, now())
            where id = ${id}
              and app_id is not distinct from ${appId}`,
        )
        await purgeChannel(context, { appId, id })
      }
      if (!(await attempt(purge))) isEmpty = false
    }
    const last = found.at(-1)
    if (!last) return isEmpty
    after = last.id
  }
}

/** The events of users' own topics, and then the topics. */
async function purgeStreams(context: AppPurgeContext, appId: string) {
  for (;;) {
    const found = await context.db.use(
      (db) => db<{ userId: string }[]>`
        select us.user_id
        from user_streams us
        where us.app_id = ${appId}
        limit ${FOUND}`,
    )
    if (found.length === 0) return
    const userIds = found.map(({ userId }) => userId)
    for (const userId of userIds) await purgeTopic(context, topics.user(appId, userId))
    await context.db.use(
      (db) => db`
        delete from user_streams
        where app_id = ${appId}
          and user_id = any(${userIds})`,
    )
  }
}

const eventsOfTopic = { table: 'events', order: ['"offset"'] }
const purgeTopic = (context: AppPurgeContext, topic: string) =>
  deleteOwned(context, eventsOfTopic, { column: 'topic', id: topic })

type Remove = (db: DbConnection, limit: number) => PromiseLike<{ count: number }>

const rowsOfApp: Owned[] = [
  { table: 'webhook_deliveries' },
  { table: 'text_removals', order: ['message_id'] },
  { table: 'workspace_members' },
  { table: 'workspace_invite_uses', order: ['user_id', 'invite_id'] },
  { table: 'workspace_invites', order: ['created_by', 'id'] },
  { table: 'devices' },
  { table: 'link_previews', order: ['url_hash'] },
  { table: 'connections' },
]

const lastRowsOf = (appId: string): Remove[] => [
  (db, limit) => removeEntries(db, { appId, limit }),
  (db) => db`
    delete from service
    where key in (
      select ${replayKey('')} || wh.id
      from webhooks wh
      where wh.app_id = ${appId}
    )`,
]

/** Users of a deleted app also leave the push provider. */
function removeUsers(
  context: AppPurgeContext,
  { appId, wasShown }: { appId: string } & Pick<DeletedApp, 'wasShown'>,
) {
  const { publisher, staging } = context
  const caller = { appId, publisher, ...(staging && { staging }) }
  let after = ''
  return repeatUntilNone(context, async (connection, limit) => {
    const removed = await runInTransaction(connection, caller, async ({ db, enqueue }) => {
      const users = await deleteUsers(db, { appId, after, limit })
      if (wasShown) {
        for (const { userId } of users) enqueue('subscriber-removal', { userId })
      }
      return users
    })
    after = removed.at(-1)?.userId ?? after
    return { count: removed.length }
  })
}

type SomeUsers = AppSlice & { after: string }
type RemovedUser = { userId: string }

const deleteUsers = (db: Tx, { appId, after, limit }: SomeUsers) => db<RemovedUser[]>`
  with found as materialized (
    select u.ctid, u.id
    from users u
    where u.app_id = ${appId}
      and u.id > ${after}
    order by u.app_id, u.id
    limit ${limit}
  ),
  deleted as (
    delete from users
    where ctid = any(array(select ctid from found))
  )
  select id as user_id
  from found
  order by id`

type AppSlice = { appId: string; limit: number }

/** Removes what keys and users did. What the operator did is kept. */
const removeEntries = (db: DbConnection, { appId, limit }: AppSlice) =>
  deleteEntries(
    db,
    db`
      select aud.id
      from audit aud
      where aud.app_id = ${appId}
        and aud.actor in ('key', 'user')
      limit ${limit}`,
  )
