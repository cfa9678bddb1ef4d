import { contract, type InspectedChannel } from '@parley/contract'
import { noteAct } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import type { Fragment, Tx } from '../db/client.ts'
import { isOpen, selectChannel } from './access.ts'
import { requireApp } from './apps/view.ts'
import { decodeIdCursor, decodeNumberCursor, encodeCursor, toPage } from './cursors.ts'
import { messagesOf, selectMessagePage } from './messages/page.ts'
import { selectNamed } from './search.ts'
import { listUsers } from './users/list.ts'
import { selectListedById } from './users/view.ts'
import { deliveriesOf } from './webhooks/deliveries.ts'
import { selectWebhooks } from './webhooks/view.ts'

const users = implementWithoutTransaction(
  contract.inspect.users,
  async ({ db }, { appId, userId, ...page }) => {
    await requireApp(db, appId)
    if (userId === undefined) return listUsers(db, { appId, offset: 0, ...page })
    const users = await selectListedById(db, { appId, ids: db`array[${userId}]` })
    return { users, nextCursor: null }
  },
)

const channels = implementWithoutTransaction(
  contract.inspect.channels,
  async ({ db }, { appId, q, userId, limit, cursor }) => {
    await requireApp(db, appId)
    const before = cursor === undefined ? db`true` : db`id < ${decodeIdCursor(cursor)}`
    const query = { appId, before, count: limit + 1 }
    const ids =
      q === undefined ? newestIds(db, { ...query, userId }) : namedIds(db, { ...query, q })
    const found = await db<InspectedChannel[]>`
      select
        c.id, c.cid, c.type, c.name, c.workspace_id, c.created_by,
        coalesce(c.frozen, false) as frozen, c.member_count, c.last_seq,
        c.last_activity_at, c.created_at
      from channels c
      where c.id = any(array(${ids}))
        and c.app_id is not distinct from ${appId}
      order by c.id desc`
    const { page, nextCursor } = toPage(found, limit, ({ id }) => encodeCursor(id, ''))
    return { channels: page, nextCursor }
  },
)

type ChannelIds = { appId: string; before: Fragment; count: number }

/** Of all channels, or of those of a member. */
function newestIds(
  db: Tx,
  { appId, before, count, userId }: ChannelIds & { userId: string | undefined },
) {
  if (userId === undefined)
    return db`
      select c.id
      from channels c
      where c.app_id = ${appId}
        and c.deleted_at is null
        and ${before}
      order by c.app_id desc, c.id desc
      limit ${count}`
  // Memberships first: the newest channels of the app may all be others'.
  return db`
    select own.id
    from (
      select m.channel_id as id
      from members m
      where m.app_id = ${appId}
        and m.user_id = ${userId}
      order by m.channel_id desc
    ) own
    cross join lateral (
      select
      from channels c
      where c.id = own.id
        and c.deleted_at is null
      limit 1
    ) live
    where ${before}
    order by own.id desc
    limit ${count}`
}

/** Open channels with a part of the name: only these are in the index of names. */
function namedIds(db: Tx, { appId, before, count, q }: ChannelIds & { q: string }) {
  const inOrder = (rows: number) => db`
    select newest.id, newest.name
    from (
      select c.id, c.name, c.type
      from channels c
      where c.app_id = ${appId}
        and c.deleted_at is null
        and ${before}
      order by c.app_id desc, c.id desc
      limit ${rows}
    ) newest
    where newest.type in ('public', 'livestream')`
  const byKeys = db`
    select named.id, named.name
    from (
      select id, name
      from channels_named(${appId}, 'public', ${q})
      union all
      select id, name
      from channels_named(${appId}, 'livestream', ${q})
    ) named
    where ${before}`
  return db`
    select named.id
    from (${selectNamed(db, { q, inOrder, byKeys, order: db`id desc`, count })}) named`
}

const messages = implement(
  contract.inspect.messages,
  async (ctx, { appId, channelId, userId, sentBefore, limit, cursor }) => {
    const { db } = ctx
    await requireApp(db, appId)
    const [channel] = await selectChannel(db, appId, channelId)
    if (!channel) throw new ApiError('NOT_FOUND', 'Channel not found')
    // The number in a cursor was read from this very list.
    const before =
      cursor === undefined ? db`true` : db`msg.seq < ${decodeNumberCursor(cursor)}::int`
    const since = sentBefore && (await firstSeqSince(db, { appId, channelId, time: sentBefore }))
    const beforeTime = since === undefined ? db`true` : db`msg.seq < ${since}::int`
    const rows = db`
      select msg.*
      from messages msg
      where msg.channel_id = ${channelId}
        and ${userId === undefined ? db`true` : db`msg.user_id collate "C" = ${userId}`}
        and ${before}
        and ${beforeTime}
      order by msg.seq desc
      limit ${limit + 1}`
    const order = db`msg.seq desc`
    const { shown, isCut } = await selectMessagePage(db, { viewer: null, rows, order })
    const page = messagesOf(shown.slice(0, limit))
    const last = isCut || shown.length > limit ? page.at(-1) : undefined
    if (!isOpen(channel.type))
      noteAct(ctx, {
        operation: 'inspect.messages',
        appId,
        target: { channelId, from: page.at(-1)?.seq ?? null, to: page[0]?.seq ?? null },
      })
    return { messages: page, nextCursor: last ? encodeCursor(String(last.seq), '') : null }
  },
)

/**
 * The number that the first message since a time has, or at least no message before it. Times never
 * contradict numbers, so a search by halves finds it: in 32 steps, whatever the channel's length.
 */
async function firstSeqSince(
  db: Tx,
  { appId, channelId, time }: { appId: string; channelId: string; time: string },
) {
  const [found] = await db<{ seq: number }[]>`
    with recursive search as (
      select 0 as low, c.last_seq + 1 as high
      from channels c
      where c.id = ${channelId}
        and c.app_id is not distinct from ${appId}
      union all
      select
        case when probe.is_before then probe.seq else search.low end,
        case when probe.is_before then search.high else middle.seq end
      from search
      cross join lateral (
        select search.low + (search.high - search.low) / 2 as seq
      ) middle
      left join lateral (
        select msg.seq, msg.created_at < ${time}::timestamptz as is_before
        from messages msg
        where msg.channel_id = ${channelId}
          and msg.seq >= middle.seq
        order by msg.seq
        limit 1
      ) probe on true
      where search.high - search.low > 1
    )
    select min(search.high) as seq
    from search`
  return found?.seq ?? 0
}

const webhooks = implementWithoutTransaction(
  contract.inspect.webhooks,
  async ({ db }, { appId }) => {
    await requireApp(db, appId)
    return { webhooks: await selectWebhooks(db, appId) }
  },
)

const deliveries = implementWithoutTransaction(
  contract.inspect.deliveries,
  async ({ db }, { appId, ...page }) => {
    await requireApp(db, appId)
    return deliveriesOf(db, { appId, ...page })
  },
)

export const inspect = {
  users,
  channels,
  messages,
  webhooks,
  deliveries,
} satisfies Implements<'inspect'>
