import type { ImportRecordInput } from '@parley/contract'
import type { Converter, Entity, Format } from './entities.ts'
import { customOf, given, listOf, objectOf, textOf, timeOf } from './fields.ts'
import { MEMBER_FIELDS, TIMES, USER_FIELDS } from './stream-fields.ts'

/**
 * Stream Chat's export of channels. Its second version has an entity a line: `{type, item}`. The
 * first has a whole channel in an object: `{channel, members, messages, read}`.
 */
const streamRecords: Converter = (entity) => {
  const channel = objectOf(entity.channel)
  if (textOf(channel.id) !== undefined) return wholeChannel(entity, channel)
  const item = objectOf(entity.item ?? entity.data)
  const convert = byType[textOf(entity.type) ?? '']
  return convert
    ? convert(item)
    : [{ problem: `type ${String(entity.type)}: nothing like it here` }]
}

type Records = ReturnType<Converter>

const wholeChannel = (entity: Entity, channel: Entity): Records => {
  const ofChannel = { channel_id: channel.id, channel_type: channel.type }
  const listedIn = (name: string) => listOf(entity[name]).map((one) => ({ ...ofChannel, ...one }))
  return [
    ...channelOf({ ...channel, members: entity.members ?? channel.members }),
    ...listedIn('members').flatMap(memberOf),
    ...listedIn('messages').flatMap(messageOf),
    ...listedIn('read').flatMap(readOf),
  ]
}

const userOf = (user: Entity): Records => {
  const id = textOf(user.id)
  if (id === undefined) return []
  const created = timeOf(user.created_at)
  return [
    given({
      record: 'user' as const,
      id,
      name: textOf(user.name),
      image: textOf(user.image),
      createdAt: created,
      ...customOf(user, USER_FIELDS),
    }) as ImportRecordInput, // the import checks it
  ]
}

/** A channel's type at Stream says what its members may do; here it says who may see it. */
const TYPES: Record<string, 'group' | 'livestream' | 'private'> = {
  messaging: 'group',
  livestream: 'livestream',
  team: 'private',
  gaming: 'group',
  commerce: 'private',
}
const idOfUser = (value: unknown) => textOf(value) ?? textOf(objectOf(value).id)
const cidOf = ({ cid, channel_type, channel_id }: Entity) =>
  textOf(cid) ?? textOf(objectOf({ cid }).cid) ?? `${channel_type}:${channel_id}`

const channelOf = (channel: Entity): Records => {
  const type = textOf(channel.type) ?? ''
  const createdAt = timeOf(channel.created_at)
  if (textOf(channel.deleted_at)) return [{ problem: 'channel: it was deleted' }]
  if (createdAt === undefined) return [{ problem: 'channel: without a valid created_at' }]
  const createdBy = idOfUser(channel.created_by)
  const known = [
    ...TIMES,
    ...['id', 'type', 'cid', 'name', 'image', 'description', 'created_by', 'frozen', 'config'],
    ...['members', 'member_count', 'disabled', 'own_capabilities', 'team', 'hidden'],
    ...['message_count'],
  ]
  return [
    ...userOf(objectOf(channel.created_by)),
    given({
      record: 'channel' as const,
      id: textOf(channel.cid) ?? `${type}:${channel.id}`,
      type: TYPES[type] ?? 'group',
      name: textOf(channel.name) ?? String(channel.id),
      image: textOf(channel.image),
      description: textOf(channel.description),
      createdBy,
      frozen: channel.frozen === true ? true : undefined,
      createdAt,
      ...customOf(channel, known),
    }) as ImportRecordInput, // the import checks it
  ]
}

const ROLES: Record<string, 'owner' | 'moderator'> = {
  owner: 'owner',
  channel_moderator: 'moderator',
  moderator: 'moderator',
}

const memberOf = (member: Entity): Records => {
  const userId = idOfUser(member.user_id ?? member.user)
  const joinedAt = timeOf(member.created_at)
  if (userId === undefined || joinedAt === undefined)
    return [{ problem: 'member: without user_id or a valid created_at' }]
  if (textOf(member.deleted_at)) return [{ problem: 'member: they have left' }]
  const role =
    ROLES[textOf(member.channel_role) ?? ''] ??
    ROLES[textOf(member.role) ?? ''] ??
    (member.is_moderator === true ? 'moderator' : undefined)
  return [
    ...userOf(objectOf(member.user)),
    given({
      record: 'member' as const,
      channelId: cidOf(member),
      userId,
      role,
      joinedAt,
      ...customOf(member, MEMBER_FIELDS),
    }) as ImportRecordInput, // the import checks it
  ]
}

const messageOf = (message: Entity): Records => {
  const id = textOf(message.id)
  const createdAt = timeOf(message.created_at)
  if (id === undefined || createdAt === undefined)
    return [{ problem: 'message: without id or a valid created_at' }]
  if (message.deleted_at || message.type === 'deleted')
    return [{ problem: 'message: it was deleted' }]
  if (message.type === 'ephemeral' || message.type === 'error')
    return [{ problem: `message: of type ${message.type}` }]
  const visibleTo = message.restricted_visibility
  const isRestricted = Array.isArray(visibleTo) && visibleTo.length > 0
  if (message.shadowed === true || isRestricted)
    return [{ problem: 'message: hidden from some members' }]
  const isSystem = message.type === 'system'
  const known = [
    ...TIMES,
    ...['id', 'cid', 'channel_id', 'channel_type', 'user', 'type', 'text', 'html', 'attachments'],
    ...['parent_id', 'silent', 'reactions', 'latest_reactions', 'own_reactions', 'reaction_counts'],
    ...['reaction_scores', 'reaction_groups', 'reply_count', 'deleted_reply_count', 'pinned'],
    ...['pinned_at', 'pinned_by', 'pin_expires', 'mentioned_users', 'shadowed', 'i18n'],
    ...['thread_participants', 'show_in_channel', 'quoted_message', 'quoted_message_id'],
    ...['message_text_updated_at', 'restricted_visibility'],
  ]
  const reactions = listOf(message.reactions ?? message.latest_reactions)
  const record = given({
    record: 'message' as const,
    id,
    channelId: cidOf(message),
    userId: isSystem ? undefined : idOfUser(message.user),
    type: isSystem ? ('system' as const) : undefined,
    text: textOf(message.text),
    attachments: listOf(message.attachments).flatMap(attachmentOf),
    parentId: textOf(message.parent_id),
    quotedMessageId: textOf(message.quoted_message_id),
    silent: message.silent === true ? true : undefined,
    createdAt,
    editedAt: timeOf(message.message_text_updated_at),
    ...customOf(message, known),
  })
  return [
    ...userOf(objectOf(message.user)),
    record as ImportRecordInput, // the import checks it
    ...reactions.flatMap((reaction) => reactionOf({ message_id: id, ...reaction })),
    ...pinOf(message, { id, createdAt }),
  ]
}

/** With the first address that is known. Those without an address are left out. */
const attachmentOf = (attachment: Entity) => {
  const { type, title, name, mime_type, file_size } = attachment
  const url = [
    attachment.asset_url,
    attachment.url,
    attachment.image_url,
    attachment.og_scrape_url,
    attachment.title_link,
  ]
    .map(textOf)
    .find((one) => one !== undefined)
  if (url === undefined) return []
  const known = [
    ...['type', 'title', 'name', 'mime_type', 'file_size', 'asset_url', 'image_url', 'thumb_url'],
    ...['url', 'og_scrape_url', 'title_link', 'fallback'],
  ]
  return [
    given({
      type: textOf(type) ?? 'file',
      url,
      name: textOf(title) ?? textOf(name),
      mimeType: textOf(mime_type),
      size: typeof file_size === 'number' ? file_size : undefined,
      thumbnailUrl: textOf(attachment.thumb_url),
      ...customOf(attachment, known),
    }),
  ]
}

const reactionOf = (reaction: Entity): Records => {
  const messageId = textOf(reaction.message_id)
  const emoji = textOf(reaction.type)
  const userId = idOfUser(reaction.user_id ?? reaction.user)
  const createdAt = timeOf(reaction.created_at)
  if (
    messageId === undefined ||
    emoji === undefined ||
    userId === undefined ||
    createdAt === undefined
  )
    return [{ problem: 'reaction: without message_id, type, user_id or a valid created_at' }]
  return [
    ...userOf(objectOf(reaction.user)),
    { record: 'reaction', messageId, userId, emoji, createdAt },
  ]
}

const pinOf = (message: Entity, { id, createdAt }: { id: string; createdAt: string }): Records => {
  const userId = idOfUser(message.pinned_by)
  if (message.pinned !== true || userId === undefined) return []
  return [
    { record: 'pin', messageId: id, userId, createdAt: timeOf(message.pinned_at) ?? createdAt },
  ]
}

const readOf = (read: Entity): Records => {
  const userId = idOfUser(read.user_id ?? read.user)
  const messageId = textOf(read.last_read_message_id)
  const createdAt = timeOf(read.last_read)
  if (userId === undefined || messageId === undefined || createdAt === undefined)
    return [{ problem: 'read: without user, last_read or last_read_message_id' }]
  return [{ record: 'read', channelId: cidOf(read), userId, messageId, createdAt }]
}

const byType: Record<string, (item: Entity) => Records> = {
  user: userOf,
  channel: channelOf,
  member: memberOf,
  message: messageOf,
  reaction: reactionOf,
  read: readOf,
}

export const streamExport: Format = { convert: streamRecords, lists: ['channels'] }
