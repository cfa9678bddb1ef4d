import type { ImportRecordInput } from '@parley/contract'
import type { Converter, Entity, Format } from './entities.ts'
import { customOf, given, listOf, objectOf, textOf, timeOf } from './fields.ts'

/**
 * Sendbird's data export: files of users, of channels, and of the messages of a channel, whose
 * entities are like those of its Platform API. What one is follows from the fields that it has. The
 * object around messages has their channel beside them, with more about its members than files of
 * channels have.
 */
const sendbirdRecords: Converter = (entity) => {
  const channel = objectOf(entity.channel)
  if (entity.message_id !== undefined) return messageOf(entity)
  if (textOf(entity.channel_url) !== undefined) return channelOf(entity)
  if (textOf(entity.user_id) !== undefined) return userOf(entity)
  if (textOf(channel.channel_url) !== undefined) return channelOf(channel)
  return [{ problem: 'an entity without message_id, channel_url and user_id' }]
}

type Records = ReturnType<Converter>

const USER_FIELDS = [
  ...['user_id', 'nickname', 'profile_url', 'created_at', 'metadata', 'access_token', 'is_online'],
  ...['is_active', 'last_seen_at', 'role', 'state', 'joined_ts', 'is_hide_me_from_friends'],
  ...['require_auth_for_profile_image', 'session_tokens', 'has_ever_logged_in', 'phone_number'],
  ...['preferred_languages', 'locale', 'discovery_keys', 'unread_message_count', 'read_receipt'],
]

/**
 * Users as members and authors: their other fields say what they may do in a channel. Files of
 * channels say `name` and `image`.
 */
const userIn = ({ user_id, created_at, metadata, ...user }: Entity): Records =>
  userOf({
    ...{ user_id, created_at, metadata },
    nickname: textOf(user.nickname) ?? user.name,
    profile_url: textOf(user.profile_url) ?? user.image,
  })

/** `metadata` is theirs for `custom`; other unknown fields are kept beside it. */
const userOf = (user: Entity): Records => {
  const id = textOf(user.user_id)
  if (id === undefined) return []
  const { custom = {} } = customOf(user, USER_FIELDS)
  const all = { ...custom, ...objectOf(user.metadata) }
  return [
    given({
      record: 'user' as const,
      id,
      name: textOf(user.nickname),
      image: textOf(user.profile_url),
      createdAt: timeOf(user.created_at),
      custom: Object.keys(all).length === 0 ? undefined : all,
    }) as ImportRecordInput, // the import checks it
  ]
}

const CHANNEL_FIELDS = [
  ...['channel_url', 'name', 'cover_url', 'created_at', 'created_by', 'freeze', 'members'],
  ...['channel', 'member_count', 'joined_member_count', 'operators', 'last_message', 'inviter'],
  ...['unread_message_count', 'unread_mention_count', 'is_distinct', 'is_super', 'is_public'],
  ...['is_open', 'is_access_code_required', 'is_broadcast', 'is_discoverable', 'is_ephemeral'],
  ...['max_length_message', 'message_survival_seconds', 'participant_count', 'read_receipt'],
  ...['sms_fallback_wait_seconds', 'sms_fallback_exclude_user_ids'],
]

const channelOf = (channel: Entity): Records => {
  const id = textOf(channel.channel_url) ?? ''
  const createdAt = timeOf(channel.created_at)
  if (createdAt === undefined) return [{ problem: 'channel: without a valid created_at' }]
  const members = listOf(channel.members)
  const operators = listOf(channel.operators).map(({ user_id }) => user_id)
  const createdBy = textOf(objectOf(channel.created_by).user_id)
  return [
    ...userIn(objectOf(channel.created_by)),
    ...members.flatMap(userIn),
    given({
      record: 'channel' as const,
      id,
      type: typeOf(channel),
      name: textOf(channel.name) ?? id,
      image: textOf(channel.cover_url),
      createdBy,
      frozen: channel.freeze === true ? true : undefined,
      createdAt,
      ...customOf(channel, CHANNEL_FIELDS),
    }) as ImportRecordInput, // the import checks it
    ...members.flatMap((member): Records => {
      const userId = textOf(member.user_id)
      if (userId === undefined) return [{ problem: 'member: without user_id' }]
      if (member.state === 'invited') return [{ problem: 'member: invited, and has not joined' }]
      const isOperator = member.role === 'operator' || operators.includes(userId)
      const role = isOperator ? 'moderator' : 'member'
      const joinedAt = timeOf(member.joined_ts) ?? createdAt
      return [{ record: 'member', channelId: id, userId, role, joinedAt }]
    }),
  ]
}

const typeOf = ({ participant_count, is_public }: Entity) => {
  if (participant_count !== undefined) return 'livestream'
  return is_public === true ? 'public' : 'group'
}

const MESSAGE_FIELDS = [
  ...['message_id', 'type', 'channel_url', 'channel', 'channel_type', 'user', 'sender', 'message'],
  ...['created_at', 'updated_at', 'file', 'files', 'is_removed', 'parent_message_id', 'reactions'],
  ...[
    'mention_type',
    'mentioned_users',
    'thread_info',
    'translations',
    'silent',
    'og_tag',
    'req_id',
  ],
  ...[
    'message_survival_seconds',
    'is_op_msg',
    'is_apple_critical_alert_enabled',
    'parent_message_text',
  ],
]

const messageOf = (message: Entity): Records => {
  const id = String(message.message_id)
  const createdAt = timeOf(message.created_at)
  const channelId = textOf(message.channel_url) ?? textOf(objectOf(message.channel).channel_url)
  if (createdAt === undefined || channelId === undefined)
    return [{ problem: 'message: without a valid created_at or channel_url' }]
  if (message.is_removed === true) return [{ problem: 'message: it was removed' }]
  const isAdmin = message.type === 'ADMM'
  const author = objectOf(message.user ?? message.sender)
  const parent = message.parent_message_id
  const record = given({
    record: 'message' as const,
    id,
    channelId,
    userId: isAdmin ? undefined : textOf(author.user_id),
    type: isAdmin ? ('system' as const) : undefined,
    text: textOf(message.message),
    attachments: [objectOf(message.file), ...listOf(message.files)].flatMap(attachmentOf),
    parentId: parent ? String(parent) : undefined,
    silent: message.silent === true ? true : undefined,
    createdAt,
    editedAt: message.updated_at === 0 ? undefined : timeOf(message.updated_at),
    ...customOf(message, MESSAGE_FIELDS),
  })
  return [
    ...userIn(author),
    record as ImportRecordInput, // the import checks it
    ...listOf(message.reactions).flatMap((reaction) => reactionsOf(reaction, { id, createdAt })),
  ]
}

const attachmentOf = (file: Entity) => {
  const url = textOf(file.url)
  if (url === undefined) return []
  const mimeType = textOf(file.type)
  return [
    given({
      type: mimeType?.startsWith('image/') ? 'image' : 'file',
      url,
      name: textOf(file.name),
      mimeType,
      size: typeof file.size === 'number' ? file.size : undefined,
    }),
  ]
}

/** An export has one entry for all users with the same reaction, and one time for them. */
const reactionsOf = (
  reaction: Entity,
  { id, createdAt }: { id: string; createdAt: string },
): Records => {
  const emoji = textOf(reaction.key)
  if (emoji === undefined) return [{ problem: 'reaction: without key' }]
  const userIds = Array.isArray(reaction.user_ids) ? reaction.user_ids.map(String) : []
  const time = timeOf(reaction.updated_at) ?? createdAt
  return userIds.map((userId) => ({
    record: 'reaction',
    messageId: id,
    userId,
    emoji,
    createdAt: time,
  }))
}

export const sendbirdExport: Format = {
  convert: sendbirdRecords,
  lists: [
    ...['users', 'active_users', 'deactivated_users'],
    ...['channels', 'group_channels', 'open_channels', 'messages'],
  ],
}
