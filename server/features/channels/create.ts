import {
  type Channel,
  type ChannelType,
  contract,
  type Role,
  type UserSummary,
} from '@parley/contract'
import slugify from '@sindresorhus/slugify'
import { v7 as uuidv7 } from 'uuid'
import type { WriteContext } from '../../core/context.ts'
import { fail } from '../../core/errors.ts'
import { sha256 } from '../../core/hash.ts'
import { implement } from '../../core/operation.ts'
import type { ChannelRow } from '../../db/rows.ts'
import { asLocked, channelForReader } from '../access.ts'
import { addMembers, knownUsers } from '../members/change.ts'
import { workspaceForMember } from '../workspaces/access.ts'
import { selectChannels } from './view.ts'

export const create = implement(contract.channels.create, async (ctx, input) => {
  const { userId } = ctx.caller
  const isDirect = input.type === 'messaging'
  const others = input.memberIds.filter((id) => id !== userId)
  if (isDirect && others.length === 0)
    return fail('VALIDATION_ERROR', 'memberIds: expected somebody else')
  if (input.workspaceId !== undefined) await workspaceForMember(ctx, input.workspaceId)
  const users = await knownUsers(ctx, { ids: [userId, ...others], field: 'memberIds' })
  const [peerId = ''] = others
  const dmKey = isDirect ? [userId, peerId].sort().join(' ') : null

  const made = await insertChannel(ctx, { ...input, dmKey })
  if ('twinId' in made) return existing(ctx, made.twinId)
  const channel = asLocked(made.row)
  if (!isDirect && others.length > 0)
    ctx.enqueue('push-invite', { channelId: channel.id, invitedBy: userId, userIds: others })
  const { rev, memberCount } = await addMembers(
    ctx,
    channel,
    users.map((user) => ({ user, role: roleOf(user, userId) })),
  )
  return { ...(await viewChannel(ctx, channel.id)), rev, memberCount }
})

const roleOf = (user: UserSummary, creator: string): Role =>
  user.id === creator ? 'owner' : 'member'

type Draft = {
  type: ChannelType
  name?: string
  image?: string
  description?: string
  workspaceId?: string
  clientId?: string
  dmKey: string | null
}

/** The new row, or the channel that the pair or the client id has already; a taken cid is given a suffix. */
async function insertChannel(
  { db, caller: { appId, userId } }: WriteContext<'user'>,
  draft: Draft,
): Promise<{ row: ChannelRow } | { twinId: string }> {
  const {
    type,
    name = null,
    image = null,
    description = null,
    workspaceId = null,
    clientId = null,
    dmKey,
  } = draft
  for (const cid of candidateCids(draft)) {
    const [row] = await db<ChannelRow[]>`
      insert into channels (id, app_id, cid, type, name, image, description, workspace_id, created_by, client_id, dm_key)
      values (${uuidv7()}, ${appId}, ${cid}, ${type}, ${name}, ${image}, ${description}, ${workspaceId}, ${userId}, ${clientId}, ${dmKey})
      on conflict do nothing
      returning *`
    if (row) return { row }
    const [twin] = await selectTwin(db, { appId, userId, dmKey, clientId })
    if (twin) return { twinId: twin.id }
  }
  throw new Error('no free cid found')
}

/** `<type>:<slug>`, then the same with random suffixes; for a direct message a hash of its pair. */
function* candidateCids({ type, name = '', dmKey }: Draft) {
  const slug =
    dmKey === null
      ? slugify(name, { decamelize: false }).slice(0, SLUG_LENGTH).replace(/-$/, '') || 'channel'
      : sha256(dmKey).slice(0, 16)
  yield `${type}:${slug}`
  for (let tries = 0; tries < 5; tries++) yield `${type}:${slug}-${uuidv7().slice(-6)}`
}
const SLUG_LENGTH = 80

const selectTwin = (
  db: WriteContext['db'],
  {
    appId,
    userId,
    dmKey,
    clientId,
  }: { appId: string; userId: string; dmKey: string | null; clientId: string | null },
) => db<{ id: string }[]>`
  select id from channels
  where app_id = ${appId} and deleted_at is null and (dm_key = ${dmKey} or (created_by = ${userId} and client_id = ${clientId}))
  order by client_id = ${clientId} desc nulls last limit 1`

/** The channel that this create repeats, unless its creator has left it since. */
async function existing(ctx: WriteContext<'user'>, channelId: string): Promise<Channel> {
  await channelForReader(ctx, channelId)
  return viewChannel(ctx, channelId)
}

/** A channel that is known to exist, as the caller sees it, with its first members. */
export async function viewChannel(
  { db, caller: { appId, userId } }: Pick<WriteContext<'user'>, 'db' | 'caller'>,
  channelId: string,
): Promise<Channel> {
  const [channel] = await selectChannels(db, {
    appId,
    viewer: userId,
    page: db`c.id = ${channelId}`,
    withMembers: true,
  })
  return channel ?? fail('NOT_FOUND', 'Channel not found')
}
