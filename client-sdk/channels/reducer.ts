import { facesOf, withFaces } from '../room/profiles.ts'
import { applyEvent, type TopicEvent, unknown } from '../room/reducer.ts'
import type { Channel as ChannelRecord, UserEvents, UserSummary } from '../types.ts'

/** A channel of the list, and its place in it: the greater, the newer its activity. */
export type Listed = { channel: ChannelRecord; place: number }

/** What an event of its topic makes of a listed channel; `isUnclear` when only the server knows. */
export function follow(
  { channel, place }: Listed,
  event: TopicEvent,
  me: string,
): Listed & { isUnclear?: boolean } {
  if (event.rev !== undefined && event.rev <= channel.rev) return { channel, place }
  const next = { ...changed(channel, event, me), rev: event.rev ?? channel.rev }
  if (event.type === 'message.new')
    return { channel: next, place: Math.max(place, Date.parse(event.payload.message.createdAt)) }
  const isUnclear =
    event.type === 'message.deleted' && event.payload.messageId === channel.lastMessage?.id
  return event.rev === undefined && isSameChannel(channel, next)
    ? { channel, place }
    : { channel: next, place, isUnclear }
}

function changed(channel: ChannelRecord, event: TopicEvent, me: string): ChannelRecord {
  switch (event.type) {
    case 'message.new': {
      const { message } = event.payload
      const isReadOn = message.userId === me && channel.lastReadSeq === message.seq - 1
      return {
        ...lastChanged(channel, event, me),
        lastMessage: message,
        lastReadSeq: isReadOn ? message.seq : channel.lastReadSeq,
      }
    }
    case 'channel.member_joined':
    case 'channel.member_left':
    case 'channel.member_updated': {
      const { userId, role, memberCount } = event.payload
      return {
        ...channel,
        memberCount,
        role: userId === me && event.type !== 'channel.member_left' ? role : channel.role,
      }
    }
    case 'channel.updated':
      return { ...channel, ...event.payload.channel }
    case 'read.updated':
      return event.payload.userId === me
        ? { ...channel, lastReadSeq: Math.max(channel.lastReadSeq, event.payload.lastReadSeq) }
        : channel
    default:
      return lastChanged(channel, event, me)
  }
}

/** The last message is a message like any other. */
function lastChanged(channel: ChannelRecord, event: TopicEvent, me: string): ChannelRecord {
  const { lastMessage } = channel
  if (!lastMessage) return channel
  const messages = new Map([[lastMessage.id, { ...lastMessage, status: 'sent' as const }]])
  const { status: _, ...message } = applyEvent({ ...unknown, messages }, event, me).messages.get(
    lastMessage.id,
  ) ?? { ...lastMessage, status: 'sent' }
  return { ...channel, lastMessage: message }
}

const isSameChannel = (a: ChannelRecord, b: ChannelRecord) => a.lastReadSeq === b.lastReadSeq

/**
 * A record as the server gave it, beside what has been heard since: the newer rev wins, and what has none and was heard
 * while the record was on its way stays.
 */
export function merge(
  known: Listed | undefined,
  channel: ChannelRecord,
  { isCountHeard, areSettingsHeard, readSeq }: Heard,
): Listed {
  const isOlder = known !== undefined && known.channel.rev > channel.rev
  const lastReadSeq = Math.max(
    channel.lastReadSeq,
    readSeq,
    isOlder ? known.channel.lastReadSeq : 0,
  )
  if (!known) return { channel: { ...channel, lastReadSeq }, place: activityOf(channel) }
  const merged = {
    ...(isOlder ? known.channel : channel),
    ...settingsOf(areSettingsHeard ? known.channel : channel),
    unreadCount: (isCountHeard ? known.channel : channel).unreadCount,
    lastReadSeq,
  }
  const isSame = JSON.stringify(merged) === JSON.stringify(known.channel)
  return {
    channel: isSame ? known.channel : merged,
    place: Math.max(known.place, activityOf(channel)),
  }
}
/** What was heard while the record was on its way. */
type Heard = { isCountHeard: boolean; areSettingsHeard: boolean; readSeq: number }

/** Places for a page in the server's order, though some of what it goes by can not be seen. */
export function placed(page: readonly ChannelRecord[]): Map<string, number> {
  const places = new Map<string, number>()
  let least = 0
  for (const channel of [...page].reverse()) {
    least = Math.max(least + 0.001, activityOf(channel))
    places.set(channel.id, least)
  }
  return places
}

const activityOf = ({ lastMessage, createdAt }: ChannelRecord) =>
  Date.parse(lastMessage?.createdAt ?? createdAt)

const settingsOf = ({ starred, muted }: { starred: boolean; muted: boolean }) => ({
  starred,
  muted,
})
export const withSettings = (
  { channel, place }: Listed,
  settings: UserEvents['channel.settings_changed'],
): Listed => ({
  channel: { ...channel, ...settingsOf(settings) },
  place,
})

/** What it is called now; the channel's own topic may have told of a later change. */
export const profiled = (
  { channel, place }: Listed,
  profile: UserEvents['channel.updated']['channel'],
): Listed => ({
  channel: profile.updatedAt < channel.updatedAt ? channel : { ...channel, ...profile },
  place,
})

/** Somebody has a new name or image: it shows in a direct message, and with the last message. */
export function renamed({ channel, place }: Listed, user: UserSummary, me: string): Listed {
  const { lastMessage, members } = channel
  const faces = facesOf(user)
  const isPeer =
    channel.type === 'messaging' &&
    user.id !== me &&
    members?.some(({ userId }) => userId === user.id)
  const next = {
    ...channel,
    ...(isPeer ? { name: user.name, image: user.image } : {}),
    ...(members ? { members: members.map((member) => withFaces(member, faces)) } : {}),
    lastMessage: lastMessage && withFaces(lastMessage, faces),
  }
  return { channel: JSON.stringify(next) === JSON.stringify(channel) ? channel : next, place }
}
