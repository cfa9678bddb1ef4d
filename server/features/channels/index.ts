import { contract } from '@parley/contract'
import { broadcastToUser } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import type { ChannelRow } from '../../db/rows.ts'
import { containing } from '../../db/sql.ts'
import { channelForReader, isLargeLivestream, lockedChannelForMember } from '../access.ts'
import { isStaff } from '../members/index.ts'
import { create, viewChannel } from './create.ts'
import { peerOf, selectChannels } from './view.ts'

const list = implementWithoutTransaction(
  contract.channels.list,
  async ({ db, caller: { appId, userId } }, { limit, offset, type, discover, q }) => {
    const mine = discover ? discoverable(db, userId) : db`m.user_id is not null`
    const ofType = type === undefined ? db`true` : db`c.type = ${type}`
    const named =
      q === undefined
        ? db`true`
        : db`coalesce(c.name, (select display_name from (${peerOf(db, userId)}) peer)) ilike ${containing(q)}`
    const page = db`${mine} and ${ofType} and ${named} order by c.last_activity_at desc, c.id desc limit ${limit} offset ${offset}`
    return { channels: await selectChannels(db, { appId, viewer: userId, page }) }
  },
)

const get = implementWithoutTransaction(contract.channels.get, async (ctx, { channelId }) => {
  await channelForReader(ctx, channelId)
  return viewChannel(ctx, channelId)
})

const update = implement(contract.channels.update, async (ctx, { channelId, ...wanted }) => {
  const { channel, standing } = await lockedChannelForMember(ctx, channelId)
  if (channel.type === 'messaging' || !isStaff(standing.role))
    return fail(
      'FORBIDDEN',
      'Only owners and moderators edit a channel, and nobody a direct message',
    )
  const { name = channel.name, image = channel.image, description = channel.description } = wanted
  if (name === channel.name && image === channel.image && description === channel.description)
    return viewChannel(ctx, channelId)
  const [edited] = await ctx.db<ChannelRow[]>`
    update channels set name = ${name}, image = ${image}, description = ${description}, updated_at = clock_timestamp() where id = ${channelId} returning *`
  ctx.emit(channel, 'channel.updated', () => ({ channelId, channel: profile(edited ?? channel) }))
  return { ...(await viewChannel(ctx, channelId)), rev: channel.rev + 1 }
})

const remove = implement(contract.channels.delete, async (ctx, { channelId }) => {
  const { channel, standing } = await lockedChannelForMember(ctx, channelId)
  if (standing.role !== 'owner') return fail('FORBIDDEN', 'Only its owner deletes a channel')
  ctx.emit(channel, 'channel.deleted', () => ({ channelId }))
  // Nobody can tell later who they were.
  const present = isLargeLivestream(channel) ? [] : await selectPresent(ctx.db, channelId)
  ctx.afterCommit(() => {
    for (const { userId } of present)
      broadcastToUser(ctx, userId, { type: 'channel.deleted', payload: { channelId } })
  })
  // Its pair, cid and client id are free again at once; what is in it is purged later.
  ctx.write(
    ctx.db`update channels set deleted_at = clock_timestamp(), client_id = null where id = ${channelId}`,
  )
  ctx.afterCommit(ctx.services.erasure.wake)
  return { success: true }
})

/** The members who are connected, to whatever node. */
const selectPresent = (db: Tx, channelId: string) => db<{ userId: string }[]>`
  select user_id from members m
  where channel_id = ${channelId} and exists (select from connections k where k.app_id = m.app_id and k.user_id = m.user_id)`

const updateSettings = implement(
  contract.channels.updateSettings,
  async (ctx, { channelId, starred, muted }) => {
    const { standing } = await lockedChannelForMember(ctx, channelId)
    const settings = {
      starred: starred ?? standing.starred ?? false,
      muted: muted ?? standing.muted ?? false,
    }
    if (settings.starred !== standing.starred || settings.muted !== standing.muted) {
      ctx.write(
        ctx.db`update members set starred = ${settings.starred}, muted = ${settings.muted} where channel_id = ${channelId} and user_id = ${ctx.caller.userId}`,
      )
      ctx.emitToUser(ctx.caller.userId, 'channel.settings_changed', { channelId, ...settings })
    }
    return { success: true, ...settings }
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

/** What a channel is called and looks like, the same for everybody. Only of channels that have a name of their own. */
const profile = ({
  id,
  cid,
  name,
  type,
  image,
  description,
  workspaceId,
  updatedAt,
}: ChannelRow) => ({
  id,
  cid,
  name: name ?? '',
  type,
  image,
  description,
  workspaceId,
  updatedAt,
})

/** Channels one may join: those open to everybody, and the team channels of one's workspaces. */
const discoverable = (db: Tx, userId: string) => db`(
  c.type in ('public', 'livestream')
  or (c.type = 'team' and exists (select from workspace_members w where w.workspace_id = c.workspace_id and w.user_id = ${userId}))
)`
