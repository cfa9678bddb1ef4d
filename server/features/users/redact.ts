import { type Channel, topics, type UserSummary } from '@parley/contract'
import type { ChannelRow } from '../../db/rows.ts'
import { DELETED_USER_NAME } from '../../db/sql.ts'

/* Redacts deleted users and channels in stored events. All are functions of JSON. */

export type NamedChannel = Pick<ChannelRow, 'appId' | 'id' | 'name' | 'image'>

/** Fields that users fill as they like: the content may look like a user. */
const GIVEN = new Set(['custom', 'attachments'])

/** The users whose names and texts are removed, by id, as they are shown from now on. */
export type Erased = ReadonlyMap<unknown, UserSummary>

/**
 * The same with the names and pictures of these users instead of those that it has, and without the
 * metadata of their memberships.
 */
export function withUsers(value: unknown, users: Erased): unknown {
  if (Array.isArray(value)) return value.map((each) => withUsers(each, users))
  if (typeof value !== 'object' || value === null) return value
  const user = 'id' in value ? users.get(value.id) : undefined
  if (user && 'name' in value && 'image' in value)
    return { ...value, name: user.name, image: user.image }
  const isTheirs = 'userId' in value && users.has(value.userId) && 'role' in value
  const entries = Object.entries(value).map(([key, each]) => {
    if (key === 'custom' && isTheirs) return [key, {}]
    return [key, GIVEN.has(key) ? each : withUsers(each, users)]
  })
  return Object.fromEntries(entries)
}

type Quoted = { userId: string }
type Said = { id: string; channelId: string; seq: number; userId: string; quotedMessage?: Quoted }
type EventJson = { type: string; payload: { message?: Said } }

/** Removes what the users wrote, as if they had deleted their messages. */
export function withoutTexts(envelope: EventJson, users: Erased, deletedAt: string) {
  const { message } = envelope.payload
  if (message && users.has(message.userId)) {
    const { channelId, id: messageId, seq } = message
    return { type: 'message.deleted', payload: { channelId, messageId, seq, deletedAt } }
  }
  if (!message?.quotedMessage || !users.has(message.quotedMessage.userId)) return envelope
  const emptied = { text: '', attachmentCount: 0, attachmentType: null, deletedAt }
  const quotedMessage = { ...message.quotedMessage, ...emptied }
  return { ...envelope, payload: { ...envelope.payload, message: { ...message, quotedMessage } } }
}

/**
 * The event of a change of a direct message, without the names of both, which it has unless it has
 * its own.
 */
export function withoutNames<Event extends { type: string; payload: object }>(
  envelope: Event,
  { name, image }: NamedChannel,
) {
  const { type, payload } = envelope
  if (type !== 'channel.updated' || name !== null || !('channel' in payload)) return envelope
  const channel = { ...(payload.channel as object), name: DELETED_USER_NAME, image } // a profile
  return { ...envelope, payload: { ...payload, channel } }
}

type Added = { type: string; payload: { channel?: Pick<Channel, 'id' | 'members'> } }

/**
 * The event by which a member got a direct message, without the other one, whose name it has unless
 * it has its own.
 */
export function withoutPeer(envelope: Added, channel: NamedChannel, topic: string) {
  const { type, payload } = envelope
  if (type !== 'channel.added' || payload.channel?.id !== channel.id) return envelope
  const members = payload.channel.members?.map((member) =>
    topics.user(channel.appId, member.userId) === topic
      ? member
      : { ...member, user: { ...member.user, name: DELETED_USER_NAME, image: null } },
  )
  const profile = { name: channel.name ?? DELETED_USER_NAME, image: channel.image }
  const renamed = { ...payload.channel, ...profile, ...(members && { members }) }
  return { ...envelope, payload: { ...payload, channel: renamed } }
}
