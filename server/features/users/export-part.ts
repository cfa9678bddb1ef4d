import { type ExportItem, limits } from '@parley/contract'
import type { Fragment, Tx } from '../../db/client.ts'
import { FIRST_ID } from '../../db/sql.ts'

export type ExportRef = { appId: string; userId: string }
/** The key of a row within its part: an id, and what orders the rows of that id. */
export type ExportPosition = { first: string; second: string }

export const START: ExportPosition = { first: FIRST_ID, second: '0' }
/** How many channels of a user one page looks at. */
const CHANNELS = 100

type PartQuery = ExportRef & ExportPosition
export type Part = {
  kind: ExportItem['kind']
  /** Whether a cursor may name it. */
  isPosition: (position: ExportPosition) => boolean
  /**
   * Rows after the position, with their `ordinal`, `first`, `second` and `data`; and where to go on
   * once there are none, unless that is the next part.
   */
  select: (db: Tx, query: PartQuery) => Promise<{ rows: Fragment; end?: ExportPosition }>
}

const isNumbered = ({ second }: ExportPosition) =>
  /^\d{1,10}$/.test(second) && Number(second) <= limits.largestInteger

/** Rows that are ordered by an id. `from` selects them as `entry`, with this id and data. */
export const byId = (
  kind: Part['kind'],
  from: (db: Tx, query: PartQuery) => { id: Fragment; data: Fragment; rows: Fragment },
): Part => ({
  kind,
  isPosition: isNumbered,
  select: async (db, query) => {
    const { id, data, rows } = from(db, query)
    return {
      rows: db`
        select
          row_number() over (order by ${id}) as ordinal,
          ${id}::text as first, '0' as second, ${data} as data
        from ${rows}
          and ${id} > ${query.first}
        order by ${id}
        limit ${limits.exportPage}`,
    }
  },
})

/** A single row, or none. */
export const single = (
  kind: Part['kind'],
  from: (db: Tx, query: PartQuery) => { data: Fragment; rows: Fragment },
): Part => ({
  kind,
  isPosition: isNumbered,
  select: async (db, query) => {
    const { data, rows } = from(db, query)
    return {
      rows: db`
        select 1 as ordinal, ${START.first} as first, '0' as second, ${data} as data
        from ${rows}`,
    }
  },
})

/** Rows that are numbered in a channel. `keys` selects, in a channel, those after `afterSeq`. */
export const byChannel = (
  kind: Part['kind'],
  from: (
    db: Tx,
    query: PartQuery & { channelId: Fragment; afterSeq: Fragment },
  ) => { keys: Fragment; data: Fragment; rows: Fragment },
): Part => ({
  kind,
  isPosition: isNumbered,
  select: async (db, query) => {
    const slice = await selectChannelIds(db, query)
    const { keys, data, rows } = from(db, {
      ...query,
      channelId: db`own.id`,
      afterSeq: db`(case when own.id = ${query.first} then ${query.second}::int else 0 end)`,
    })
    const last = slice.length < CHANNELS ? undefined : slice.at(-1)
    return {
      ...(last && { end: { first: last, second: String(limits.largestInteger) } }),
      // Keys first: what users wrote is read for one page only.
      rows: db`
        select
          row_number() over (order by found.channel_id, found.seq) as ordinal,
          found.channel_id::text as first, found.seq::text as second, ${data} as data
        from (
          select own.id as channel_id, key.seq
          from unnest(${slice}::uuid[]) own (id)
          cross join lateral (${keys} limit ${limits.exportPage}) key
          order by own.id, key.seq
          limit ${limits.exportPage}
        ) found
        join ${rows}`,
    }
  },
})

/**
 * The next channels that the user is, or once was, a member of. Those that nobody can see are left
 * out: deleted ones, and those that an import has not finished.
 */
async function selectChannelIds(db: Tx, { appId, userId, first }: PartQuery) {
  const rows = await db<{ id: string }[]>`
    select own.channel_id as id
    from (
      select m.channel_id
      from members m
      where m.app_id = ${appId}
        and m.user_id = ${userId}
      union
      select fm.channel_id
      from former_members fm
      where fm.app_id = ${appId}
        and fm.user_id = ${userId}
    ) own
    cross join lateral (
      select
      from channels c
      where c.id = own.channel_id
        and c.deleted_at is null
      limit 1
    ) active
    where own.channel_id >= ${first}
    order by own.channel_id
    limit ${CHANNELS}`
  return rows.map(({ id }) => id)
}

/** Whether something of this time is of the user, and not of an earlier user with its id. */
export const isTheirs = (db: Tx, { appId, userId, at }: ExportRef & { at: Fragment }) => db`(
  ${at} >= (
    select coalesce(u.reused_at, '-infinity')
    from users u
    where u.app_id = ${appId}
      and u.id = ${userId}
  )
)`

/** Whether the user has created this channel or workspace. */
export const isCreator = (db: Tx, { of, ...user }: ExportRef & { of: 'c' | 'w' }) => db`(
  ${db(`${of}.created_by`)} = ${user.userId}
  and ${isTheirs(db, { ...user, at: db`${db(`${of}.created_at`)}` })}
)`
