import { contract, type Input, type InspectedChannel, limits } from '@parley/contract'
import { implementWithoutTransaction } from '../../core/operation.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { hasPart, inApp, isOpenType, LAST_ID } from '../../db/sql.ts'
import { requireApp } from '../apps/view.ts'
import { decodeCursor, decodeIdCursor, encodeCursor, toPage } from '../cursors.ts'
import { selectNamed } from '../search.ts'

export const channels = implementWithoutTransaction(
  contract.inspect.channels,
  async ({ db }, { q, channelId, ...query }) => {
    const { appId } = query
    await requireApp(db, appId)
    if (channelId !== undefined) return channelOf(db, { appId, channelId })
    return q === undefined ? listChannels(db, query) : searchChannels(db, { ...query, q })
  },
)

type InspectQuery = Omit<Input<typeof contract.inspect.channels>, 'channelId'>

/** The channel with this id as a list, unless it is deleted. */
async function channelOf(db: Tx, { appId, channelId }: { appId: string; channelId: string }) {
  const active = db`
    select c.id
    from channels c
    where c.id = ${channelId}
      and c.deleted_at is null`
  return { channels: await selectChannels(db, appId, active), nextCursor: null }
}

async function listChannels(db: Tx, { appId, userId, limit, cursor }: InspectQuery) {
  const query = { ...rangeOf(appId, cursor), count: limit + 1 }
  const found = await selectChannels(db, appId, newestIds(db, { ...query, userId }), userId)
  return toChannelPage(found, limit)
}

/** The part of a cursor that says: the open channels are listed, the others come next. */
const OTHERS = 'others'

/** Finds the open channels by their index of names, then the others slice by slice. */
async function searchChannels(db: Tx, { appId, q, limit, cursor }: InspectQuery & { q: string }) {
  const [, part] = cursor === undefined ? [] : decodeCursor(cursor)
  if (part === OTHERS) return searchOthers(db, { appId, q, limit, cursor })
  const named = namedIds(db, { ...rangeOf(appId, cursor), q, count: limit + 1 })
  const open = await selectChannels(db, appId, named)
  if (open.length >= limit) {
    const { channels, nextCursor } = toChannelPage(open, limit)
    return { channels, nextCursor: nextCursor ?? encodeCursor(LAST_ID, OTHERS) }
  }
  const others = await searchOthers(db, { appId, q, limit: limit - open.length })
  return { channels: [...open, ...others.channels], nextCursor: others.nextCursor }
}

type ChannelSlice = { ids: string[]; oldest: string | null; count: number }

/** Looks at a slice of all channels, and returns those that are not open and have the name. */
async function searchOthers(db: Tx, { appId, q, limit, cursor }: InspectQuery & { q: string }) {
  const [slice] = await db<ChannelSlice[]>`
    with slice as materialized (
      select c.id, c.type, c.name
      from channels c
      where ${inApp(db, db`c`, rangeOf(appId, cursor))}
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit ${limits.inspectSlice}
    )
    select
      (select count(*)::int from slice) as count,
      (
        select slice.id
        from slice
        order by slice.id
        limit 1
      ) as oldest,
      array(
        select slice.id
        from slice
        where not ${isOpenType(db, db`slice.type`)}
          and ${hasPart(db, db`slice.name`, q)}
        order by slice.id desc
        limit ${limit + 1}
      ) as ids`
  const { ids = [], oldest = null, count = 0 } = slice ?? {}
  const { page, nextCursor } = toPage(ids, limit, (id) => encodeCursor(id, OTHERS))
  const found = await selectChannels(db, appId, db`select unnest(${page}::uuid[])`)
  const afterSlice =
    oldest === null || count < limits.inspectSlice ? null : encodeCursor(oldest, OTHERS)
  return { channels: found, nextCursor: nextCursor ?? afterSlice }
}

type ChannelRange = { appId: string; before: string | undefined }
const rangeOf = (appId: string, cursor: string | undefined): ChannelRange => ({
  appId,
  before: cursor === undefined ? undefined : decodeIdCursor(cursor),
})
const isBefore = (db: Tx, before = LAST_ID) => db`id < ${before}`

const selectChannels = (db: Tx, appId: string, ids: Fragment, userId: string | null = null) =>
  db<InspectedChannel[]>`
    select
      c.id, c.cid, c.type, c.name, string_to_array(c.dm_key, ' ') as direct_user_ids,
      c.workspace_id, c.created_by,
      coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
      c.last_activity_at, c.created_at,
      (
        select m.muted
        from members m
        where m.channel_id = c.id
          and m.user_id = ${userId}
      ) as muted
    from channels c
    where c.id = any(array(${ids}))
      and c.app_id is not distinct from ${appId}
    order by c.id desc`

function toChannelPage(found: InspectedChannel[], limit: number) {
  const { page, nextCursor } = toPage(found, limit, ({ id }) => encodeCursor(id, ''))
  return { channels: page, nextCursor }
}

type ChannelIds = ChannelRange & { count: number }

/** The newest ids of all channels, or of those of a member. */
function newestIds(
  db: Tx,
  { count, userId, ...range }: ChannelIds & { userId: string | undefined },
) {
  if (userId === undefined)
    return db`
      select c.id
      from channels c
      where ${inApp(db, db`c`, range)}
        and c.deleted_at is null
      order by c.app_id desc, c.id desc
      limit ${count}`
  // By memberships, because the newest channels of the app may all be others'.
  return db`
    select own.id
    from (
      select m.channel_id as id
      from members m
      where m.app_id = ${range.appId}
        and m.user_id = ${userId}
      order by m.channel_id desc
    ) own
    cross join lateral (
      select
      from channels c
      where c.id = own.id
        and c.deleted_at is null
      limit 1
    ) active
    where ${isBefore(db, range.before)}
    order by own.id desc
    limit ${count}`
}

/** Open channels with a part of the name: only these are in the index of names. */
function namedIds(db: Tx, { count, q, ...range }: ChannelIds & { q: string }) {
  const inOrder = (rows: number) => db`
    select c.id, case when ${isOpenType(db, db`c.type`)} then c.name end as name
    from channels c
    where ${inApp(db, db`c`, range)}
      and c.deleted_at is null
    order by c.app_id desc, c.id desc
    limit ${rows}`
  const byKeys = db`
    select named.id, named.name
    from (
      select id, name
      from channels_named(${range.appId}, 'public', ${q})
      union all
      select id, name
      from channels_named(${range.appId}, 'livestream', ${q})
    ) named
    where ${isBefore(db, range.before)}`
  return db`
    select named.id
    from (${selectNamed(db, { q, inOrder, byKeys, order: db`id desc`, count })}) named`
}
