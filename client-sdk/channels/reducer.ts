import type { Channel, Message, UserEvents, UserSummary } from '../generated/types.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { OrderedMessages } from '../room/ordered.ts'
import { profilesOf, withProfiles } from '../room/profiles.ts'
import { applyEvent } from '../room/reducer.ts'
import { emptyState, toChatMessage } from '../room/state.ts'
import { isDeepEqual, keepIfEqual } from '../shared/equality.ts'
import type { Settings, UnreadFields } from './versions.ts'

/** A channel and what lists sort it by: the greater, the newer its activity. */
export type ListedChannel = {
  channel: Channel
  sortKey: number
  /** The last message before this one, kept up to date; undefined if it is not known. */
  before?: Message | null
}

/** A listed channel after an event; `needsRefetch` if the event does not contain every change. */
export function applyChannelEvent(
  listed: ListedChannel,
  event: ChannelEvent,
  me: string,
): ListedChannel & { needsRefetch?: boolean } {
  const { channel, sortKey, before } = listed
  if (event.rev !== undefined && event.rev <= channel.rev) return listed
  const next = {
    ...reduce(channel, event, me),
    rev: event.rev ?? channel.rev,
    lastReadSeq: Math.max(channel.lastReadSeq, ownReadSeq(event, me)),
  }
  if (event.type === 'message.new') {
    const sentAt = Date.parse(event.payload.message.createdAt)
    const { lastMessage } = updateLastMessage(channel, event, me)
    // A channel that was just added has none, because its messages are not known yet.
    const before = lastMessage ?? undefined
    return { channel: next, sortKey: Math.max(sortKey, sentAt), before }
  }
  // Among ephemeral events only reads concern the record.
  if (event.rev === undefined && channel.lastReadSeq === next.lastReadSeq) return listed
  if (event.type !== 'message.deleted' || event.payload.messageId !== channel.lastMessage?.id)
    return { channel: next, sortKey, before: before && withEvent(before, event, me) }
  const needsRefetch = before === undefined || !!before?.deletedAt
  return { channel: needsRefetch ? next : { ...next, lastMessage: before }, sortKey, needsRefetch }
}

/** How far an event says the user has read; 0 if it is about something else. */
export function ownReadSeq({ type, payload }: ChannelEvent, me: string): number {
  if (type === 'message.new' && payload.message.userId === me) return payload.authorLastReadSeq ?? 0
  return type === 'read.updated' && payload.userId === me ? payload.lastReadSeq : 0
}

function reduce(channel: Channel, event: ChannelEvent, me: string): Channel {
  switch (event.type) {
    case 'message.new':
      return { ...channel, lastMessage: event.payload.message }
    case 'channel.member_joined':
    case 'channel.member_left':
    case 'channel.member_updated': {
      const { userId, role, memberCount } = event.payload
      const isOwnRole = userId === me && event.type !== 'channel.member_left'
      return { ...channel, memberCount, role: isOwnRole ? role : channel.role }
    }
    case 'channel.updated':
      return withProfile(channel, event.payload.channel)
    default:
      return updateLastMessage(channel, event, me)
  }
}

const updateLastMessage = (channel: Channel, event: ChannelEvent, me: string): Channel => ({
  ...channel,
  lastMessage: channel.lastMessage && withEvent(channel.lastMessage, event, me),
})

/** Applies an event to a message as to any message of a room. */
function withEvent(known: Message, event: ChannelEvent, me: string): Message {
  const before = toChatMessage(known)
  const state = { ...emptyState, messages: OrderedMessages.of([before]) }
  const { status: _, ...message } = applyEvent(state, event, me).messages.get(known.id) ?? before
  return message
}

/** The newest known values of the fields that change without a rev. */
type Newest = UnreadFields & Settings & { readSeq: number }

/** Merges a fetched record: the newer rev wins. */
export function mergeFetched(
  known: ListedChannel | undefined,
  fetched: Channel,
  { readSeq, ...newest }: Newest,
): ListedChannel {
  const { channel = fetched, sortKey = 0 } = known ?? {}
  const record = channel.rev > fetched.rev ? channel : fetched
  const lastReadSeq = Math.max(fetched.lastReadSeq, readSeq, record.lastReadSeq)
  return {
    channel: keepIfEqual(channel, { ...record, ...newest, lastReadSeq }, isDeepEqual),
    sortKey: Math.max(sortKey, lastActivity(fetched)),
  }
}

/** Sort keys in the server's order, which depends on times that records do not contain. */
export function sortKeysOf(page: readonly Channel[]): Map<string, number> {
  const sortKeys = new Map<string, number>()
  let previous = 0
  for (const channel of [...page].reverse()) {
    previous = Math.max(previous + 0.001, lastActivity(channel))
    sortKeys.set(channel.id, previous)
  }
  return sortKeys
}

const lastActivity = ({ lastMessage, createdAt }: Channel) =>
  Date.parse(lastMessage?.createdAt ?? createdAt)

type ChannelProfile = UserEvents['channel.updated']['channel']
/** Applies what all readers see alike. A direct message still shows its other user. */
function withProfile(channel: Channel, profile: ChannelProfile): Channel {
  const { name, image } = profile.type === 'messaging' ? channel : profile
  return { ...channel, ...profile, name, image }
}

/** Updates the name, image and description, unless known ones are newer. */
export const withChannelProfile =
  (profile: ChannelProfile) =>
  ({ channel, sortKey }: ListedChannel): ListedChannel => ({
    channel: profile.updatedAt < channel.updatedAt ? channel : withProfile(channel, profile),
    sortKey,
  })

/** Updates a user's name and image: in members, the last message and direct messages. */
export function withUserProfile(
  { channel, sortKey }: ListedChannel,
  user: UserSummary,
  me: string,
): ListedChannel {
  const { lastMessage, members } = channel
  const profiles = profilesOf(user)
  const isDirectMessageWith =
    channel.type === 'messaging' &&
    user.id !== me &&
    members?.some(({ userId }) => userId === user.id)
  const updated = {
    ...channel,
    ...(isDirectMessageWith && { name: user.name, image: user.image }),
    ...(members && { members: members.map((member) => withProfiles(member, profiles)) }),
    lastMessage: lastMessage && withProfiles(lastMessage, profiles),
  }
  return { channel: keepIfEqual(channel, updated, isDeepEqual), sortKey }
}
