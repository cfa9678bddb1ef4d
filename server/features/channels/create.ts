import { type Channel, contract, type Input } from '@parley/contract'
import slugify from '@sindresorhus/slugify'
import { v7 as uuidv7 } from 'uuid'
import type { WriteContext } from '../../core/context.ts'
import { ApiError } from '../../core/errors.ts'
import { sha256 } from '../../core/hash.ts'
import { implement } from '../../core/operation.ts'
import { channelNotFound } from '../../core/refusals.ts'
import type { ChannelRow } from '../../db/rows.ts'
import { jsonOf } from '../../db/sql.ts'
import { mergeCustom } from '../custom.ts'
import { addMembers, lockKnownUsers, type NewMember } from '../members/change.ts'
import { insertSystemUser, SYSTEM_USER } from '../system-user.ts'
import { requireWorkspace, sharedWorkspaceForMember } from '../workspaces/access.ts'
import { asLocked, channelForReader } from './access.ts'
import { atRev, selectChannels } from './view.ts'

export const create = implement(contract.channels.create, async (ctx, input) => {
  const { userId } = ctx.caller
  if (userId === null) return createForBackend(ctx, input)
  const isDirect = input.type === 'messaging'
  const others = input.memberIds.filter((id) => id !== userId)
  if (isDirect && others.length === 0) {
    throw new ApiError('VALIDATION_ERROR', 'A direct message needs a user other than yourself')
  }
  const user = { ...ctx, caller: { ...ctx.caller, userId } }
  // Clients give only the id of the other user, and do not know the field.
  const field = isDirect ? undefined : 'memberIds'
  const users = await lockKnownUsers(ctx, { ids: [userId, ...others], field })
  // Users are locked before workspaces, as when users are deleted.
  if (input.workspaceId !== undefined) await sharedWorkspaceForMember(user, input.workspaceId)
  const [peerId = ''] = others
  const dmKey = isDirect ? dmKeyOf([userId, peerId]) : null

  const newMembers = users.map(
    (user): NewMember => ({ user, role: user.id === userId ? 'owner' : 'member' }),
  )
  const invitedIds = isDirect ? [] : others
  return createWithMembers(ctx, { channel: { ...input, dmKey }, newMembers, invitedIds })
})

/** A channel without an owner; its creator is the system user. */
async function createForBackend(
  ctx: WriteContext<'userOrKey'>,
  input: Input<typeof contract.channels.create>,
) {
  if (input.type === 'messaging') {
    throw new ApiError('VALIDATION_ERROR', 'type: a direct message is created by one of its users')
  }
  await insertSystemUser(ctx.db, ctx.caller.appId)
  const users = await lockKnownUsers(ctx, { ids: input.memberIds, field: 'memberIds' })
  if (input.workspaceId !== undefined) await requireWorkspace(ctx, input.workspaceId)
  const newMembers = users.map((user): NewMember => ({ user, role: 'member' }))
  return createWithMembers(ctx, { channel: { ...input, dmKey: null }, newMembers })
}

type NewChannel = Input<typeof contract.channels.create> & { dmKey: string | null }

type CreatedChannel = {
  channel: NewChannel
  newMembers: NewMember[]
  /** The members who get a push about the channel. */
  invitedIds?: string[]
}

async function createWithMembers(
  ctx: WriteContext<'userOrKey'>,
  { channel: wanted, newMembers, invitedIds = [] }: CreatedChannel,
) {
  const inserted = await insertChannel(ctx, wanted)
  if ('duplicateId' in inserted) return viewDuplicate(ctx, inserted.duplicateId)
  const channel = asLocked(inserted.row)
  const { userId } = ctx.caller
  if (userId !== null && invitedIds.length > 0)
    ctx.enqueue('push-invite', { channelId: channel.id, invitedBy: userId, userIds: invitedIds })
  const { rev, memberCount } = await addMembers(ctx, channel, newMembers)
  return { ...atRev(await viewChannel(ctx, channel.id), rev), memberCount }
}

/**
 * Inserts a channel, or finds the one that the pair or the client id has already. A taken cid is
 * given a suffix.
 */
async function insertChannel(
  ctx: WriteContext<'userOrKey'>,
  channel: NewChannel,
): Promise<{ row: ChannelRow } | { duplicateId: string }> {
  for (const cid of candidateCids(channel)) {
    const [row] = await tryInsert(ctx, channel, cid)
    if (row) return { row }
    const [duplicate] = await selectDuplicate(ctx, channel)
    if (duplicate?.id) return { duplicateId: duplicate.id }
  }
  throw new Error('no free cid found')
}

function tryInsert(
  { db, caller: { appId, userId } }: WriteContext<'userOrKey'>,
  channel: NewChannel,
  cid: string,
) {
  const { type, dmKey, name = null, image = null, description = null } = channel
  const { workspaceId = null, clientId = null } = channel
  const custom = mergeCustom(null, channel.custom)
  return db<ChannelRow[]>`
    insert into channels (
      id, app_id, cid, type,
      name, image, description,
      workspace_id, created_by, client_id, dm_key,
      custom
    )
    values (
      ${uuidv7()}, ${appId}, ${cid}, ${type},
      ${name}, ${image}, ${description},
      ${workspaceId}, ${userId ?? SYSTEM_USER.id}, ${clientId}, ${dmKey},
      ${custom && jsonOf(db, custom)}
    )
    on conflict do nothing
    returning *`
}

/** Two look-ups: for one with either key, PostgreSQL would read all channels of the app. */
function selectDuplicate(
  { db, caller: { appId, userId } }: WriteContext<'userOrKey'>,
  channel: NewChannel,
) {
  const { dmKey, clientId = null } = channel
  return db<{ id: string | null }[]>`
    select coalesce(
      (
        select id
        from channels
        where app_id = ${appId}
          and created_by = ${userId ?? SYSTEM_USER.id}
          and client_id = ${clientId}
          and num_nulls(deleted_at) = 1
      ),
      (
        select id
        from channels
        where app_id = ${appId}
          and dm_key = ${dmKey}
          and deleted_at is null
      )
    ) as id`
}

/** The key by which the one direct message of two users is found. */
export const dmKeyOf = (userIds: readonly string[]) => userIds.toSorted().join(' ')

/** `<type>:<slug>`, then with random suffixes. */
function* candidateCids({ type, ...channel }: NewChannel) {
  const slug = slugOf(channel)
  yield `${type}:${slug}`
  for (let attempt = 0; attempt < 5; attempt++) yield `${type}:${slug}-${uuidv7().slice(-6)}`
}

type Slugged = { name?: string | null | undefined; dmKey?: string | null | undefined }

const SLUG_LENGTH = 80
/** A direct message has a hash of its pair. */
export function slugOf({ name, dmKey }: Slugged) {
  if (dmKey) return sha256(dmKey).slice(0, 16)
  const slug = slugify(name ?? '', { decamelize: false })
    .slice(0, SLUG_LENGTH)
    .replace(/-$/, '')
  return slug || 'channel'
}

/** The channel that a call would have created twice, unless its creator has left it since. */
async function viewDuplicate(ctx: WriteContext<'userOrKey'>, channelId: string): Promise<Channel> {
  await channelForReader(ctx, channelId)
  return viewChannel(ctx, channelId)
}

/** A channel that is known to exist, as the caller sees it, with its first members. */
export async function viewChannel(
  { db, caller: { appId, userId } }: Pick<WriteContext<'userOrKey'>, 'db' | 'caller'>,
  channelId: string,
  isAllowed = db`true`,
): Promise<Channel> {
  const {
    channels: [channel],
  } = await selectChannels(db, {
    appId,
    viewer: userId,
    page: db`c.id = ${channelId} and ${isAllowed}`,
    includesMembers: true,
  })
  if (!channel) throw channelNotFound()
  return channel
}
