import { isDeepStrictEqual } from 'node:util'
import { contract, type Input } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import { broadcastToUser } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { JsonText } from '../../core/json-text.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import type { ChannelRow } from '../../db/rows.ts'
import { DELETED_USER_NAME, hasPart, inApp, jsonOf } from '../../db/sql.ts'
import { selectConnected } from '../connected.ts'
import { decodeIdCursor, encodeCursor } from '../cursors.ts'
import { mergeCustom } from '../custom.ts'
import { isStaff } from '../members/index.ts'
import { selectTotalUnread } from '../reads.ts'
import { channelForReader, isReadable, lockedChannelForMember } from './access.ts'
import { create, viewChannel } from './create.ts'
import { markDeleted } from './delete.ts'
import { type ChannelsQuery, selectOpenIds } from './open.ts'
import { peerOf } from './rows.ts'
import { atRev, selectChannels, selectChannelTexts } from './view.ts'

const list = implementWithoutTransaction(
  contract.channels.list,
  async ({ db, caller: { appId, userId } }, { limit, offset, cursor, ...ofUser }) => {
    const { type, discover, q, total } = ofUser
    if (userId === null && (type !== undefined || discover || q !== undefined || total)) {
      const message = 'type, discover, q, total: expected none from a backend'
      throw new ApiError('VALIDATION_ERROR', message)
    }
    if (userId === null) return listAll(db, { appId, limit, offset, cursor })
    if (cursor !== undefined) {
      throw new ApiError('VALIDATION_ERROR', 'cursor: only backends can use it')
    }
    // Reads one more than the page, to know whether there are more.
    const wanted = { appId, userId, limit: limit + 1, offset, type, q }
    const ids = discover ? selectOpenIds(db, wanted) : selectOwnIds(db, wanted)
    const page = db`c.id = any(array(${ids}))`
    const [found, totalUnread] = await pipelined([
      selectChannelTexts(db, { appId, viewer: userId, page }),
      total ? selectTotalUnread(db, { appId, userId }) : undefined,
    ])
    const { settingsVersion } = found
    const more: true | undefined = found.isCut || found.texts.length > limit || undefined
    const rest = JSON.stringify({ more, settingsVersion, ...totalUnread })
    return new JsonText(`{"channels":[${found.texts.slice(0, limit)}],${rest.slice(1)}`)
  },
)

type AllChannels = Pick<ChannelsQuery, 'appId' | 'limit' | 'offset'> & {
  cursor: string | undefined
}

/** Lists all channels of an app, the newest first, by its index of ids. */
async function listAll(db: Tx, { appId, limit, offset, cursor }: AllChannels) {
  const before = cursor === undefined ? undefined : decodeIdCursor(cursor)
  const page = db`
    ${inApp(db, db`c`, { appId, before })}
    order by c.app_id desc, c.id desc
    limit ${limit + 1}
    offset ${offset}`
  const order = db`c.id desc`
  const found = await selectChannels(db, { appId, viewer: null, page, order })
  const channels = found.channels.slice(0, limit)
  const more: true | undefined = found.isCut || found.channels.length > limit || undefined
  const last = more && channels.at(-1)
  return {
    channels,
    ...(more && { more }),
    settingsVersion: found.settingsVersion,
    nextCursor: last ? encodeCursor(last.id, '') : null,
  }
}

/**
 * The channels of a user, by type or part of the name if given. Reads the user's memberships, and
 * then the channel of each: with a join, all channels could be read instead, if there were few when
 * the statement was prepared.
 */
function selectOwnIds(db: Tx, { appId, userId, limit, offset, type, q }: ChannelsQuery) {
  const peerName = db`
    coalesce((select display_name from (${peerOf(db, userId)}) peer), ${DELETED_USER_NAME})`
  const hasType = type === undefined ? db`true` : db`c.type = ${type}`
  const isNamed = q === undefined ? db`true` : hasPart(db, db`coalesce(c.name, ${peerName})`, q)
  return db`
    select c.id
    from members m
    cross join lateral (
      select *
      from channels
      where id = m.channel_id
        and num_nulls(deleted_at) = 1
      limit 1
    ) c
    where m.app_id = ${appId}
      and m.user_id = ${userId}
      and ${hasType}
      and ${isNamed}
    order by c.last_activity_at desc, c.id desc
    limit ${limit}
    offset ${offset}`
}

const get = implementWithoutTransaction(contract.channels.get, async (ctx, { channelId }) => {
  const [, channel] = await pipelined([
    channelForReader(ctx, channelId),
    viewChannel(ctx, channelId, isReadable(ctx, channelId)),
  ])
  return channel
})

const update = implement(contract.channels.update, async (ctx, { channelId, ...changes }) => {
  const { channel, membership } = await lockedChannelForMember(ctx, channelId)
  const isDirect = channel.type === 'messaging'
  if (!isStaff(membership.role) || (isDirect && ctx.caller.userId !== null)) {
    throw new ApiError(
      'FORBIDDEN',
      'Only owners and moderators can edit a channel; direct messages cannot be edited',
    )
  }
  if (isDirect && changesProfile(changes)) {
    throw new ApiError('FORBIDDEN', 'A direct message shows its users: that cannot be changed')
  }
  if (changes.frozen !== undefined && ctx.caller.userId !== null) {
    throw new ApiError('FORBIDDEN', 'Only the backend can freeze a channel')
  }
  const { name = channel.name, image = channel.image, description = channel.description } = changes
  const { frozen = channel.frozen ?? false } = changes
  const custom = mergeCustom(channel.custom, changes.custom)
  const before = [channel.name, channel.image, channel.description, channel.custom]
  const isFrozen = channel.frozen ?? false
  if (frozen === isFrozen && isDeepStrictEqual([name, image, description, custom], before)) {
    return viewChannel(ctx, channelId)
  }
  const [edited = channel] = await ctx.db<ChannelRow[]>`
    update channels
    set
      name = ${name}, image = ${image}, description = ${description},
      custom = ${custom && jsonOf(ctx.db, custom)}, frozen = ${frozen},
      updated_at = clock_timestamp()
    where id = ${channelId}
    returning *`
  const profile = toProfile(edited, edited.name ?? (await viewChannel(ctx, channelId)).name)
  ctx.emit(channel, 'channel.updated', () => ({ channelId, channel: profile }))
  if (frozen !== isFrozen)
    noteAct(ctx, { operation: 'channels.update', target: { channelId, frozen } })
  return atRev(await viewChannel(ctx, channelId), channel.rev + 1)
})

type ChannelEdit = Omit<Input<typeof contract.channels.update>, 'channelId'>
const changesProfile = ({ name, image, description }: ChannelEdit) =>
  [name, image, description].some((value) => value !== undefined)

const remove = implement(contract.channels.delete, async (ctx, { channelId }) => {
  const { channel, membership } = await lockedChannelForMember(ctx, channelId)
  if (membership.role !== 'owner') {
    throw new ApiError('FORBIDDEN', 'Only owners can delete a channel')
  }
  markDeleted(ctx, channel)
  noteAct(ctx, { operation: 'channels.delete', target: { channelId } })
  // Read before the deletion, after which its members are unknown.
  const connected = await selectConnected(ctx.db, channelId)
  ctx.afterCommit(() => {
    for (const { userId } of connected) {
      broadcastToUser(ctx, userId, { type: 'channel.deleted', payload: { channelId } })
    }
  })
  ctx.afterCommit(ctx.services.erasure.wake)
  return { success: true }
})

const updateSettings = implement(
  contract.channels.updateSettings,
  async (ctx, { channelId, ...changes }) => {
    const { membership } = await lockedChannelForMember(ctx, channelId)
    const starred = changes.starred ?? membership.starred ?? false
    const muted = changes.muted ?? membership.muted ?? false
    if (starred !== membership.starred || muted !== membership.muted) {
      const { userId } = ctx.caller
      ctx.queueWrite(ctx.db`
        update members
        set starred = ${starred}, muted = ${muted}
        where channel_id = ${channelId}
          and user_id = ${userId}`)
      ctx.emitToUser(userId, 'channel.settings_changed', { channelId, starred, muted })
    }
    return { success: true, starred, muted }
  },
)

export const channels = {
  list,
  create,
  get,
  update,
  delete: remove,
  updateSettings,
} satisfies Implements<'channels'>

/**
 * A channel's profile, the same for every viewer. A direct message has no name of its own: this has
 * the one that the backend sees, since only the backend changes direct messages.
 */
function toProfile(channel: ChannelRow, name: string) {
  const { id, cid, type, image, description, workspaceId, custom, updatedAt } = channel
  const profile = { id, cid, name, type, image, description, workspaceId, updatedAt }
  return { ...profile, frozen: channel.frozen ?? false, custom: custom ?? {} }
}
