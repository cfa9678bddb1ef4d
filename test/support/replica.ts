import type { Channel, Envelope, Message, UserSummary } from '@parley/contract'
import type { ReceivedEvent } from './realtime.ts'
import type { User } from './world.ts'

/** The state of a client that has fetched a channel once and then applied its events. */
export async function replicaOfChannel(user: User, channelId: string) {
  const before = await fetchChannel(user, channelId)
  return {
    rev: before.rev,
    fetched: () => fetchChannel(user, channelId),
    after: (received: ReceivedEvent[]) => received.reduce(applyToChannel, before),
  }
}

/** A channel as it is created, before its first event. */
export const newChannel = (channel: Channel): ChannelState => ({
  rev: 0,
  memberCount: 0,
  profile: profileOf(channel),
  members: {},
  messages: {},
})

export async function fetchChannel(user: User, channelId: string) {
  const channel = await user.channels.get({ channelId })
  const { rev, memberCount, members = [] } = channel
  const { messages } = await user.messages.list({ channelId, limit: 200 })
  return {
    rev,
    memberCount,
    profile: profileOf(channel),
    members: byKey(
      members.map(({ userId, user, role, custom }) => [userId, { user, role, custom }]),
    ),
    messages: byKey(messages.map((message): [string, Message] => [message.id, notOwn(message)])),
  }
}
type Profile = Pick<Channel, 'name' | 'image' | 'description' | 'frozen' | 'custom' | 'updatedAt'>
const profileOf = (channel: Profile): Profile => ({
  name: channel.name,
  image: channel.image,
  description: channel.description,
  frozen: channel.frozen,
  custom: channel.custom,
  updatedAt: channel.updatedAt,
})
type ChannelState = Awaited<ReturnType<typeof fetchChannel>>

/** The state after an event. Ephemeral events and those before the state change nothing. */
export function applyToChannel(state: ChannelState, { offset, envelope }: ReceivedEvent) {
  if (offset === undefined || offset <= state.rev) return state
  return nextState(state, { offset, envelope })
}

function nextState(
  state: ChannelState,
  { offset, envelope: { type, payload } }: { offset: number; envelope: Envelope },
): ChannelState {
  const { messages, members } = state
  const now = { ...state, rev: offset }
  const changed = (id: string, changes: Partial<Message>): Record<string, Message> => {
    const known = messages[id]
    return known ? { [id]: { ...known, ...changes, rev: offset } } : {}
  }
  if (type === 'message.new') {
    const { message, parent } = payload
    return {
      ...now,
      messages: byKey(
        Object.entries({
          ...messages,
          ...(parent && changed(parent.id, { replyCount: parent.replyCount })),
          [message.id]: message,
        }),
      ),
    }
  }
  if (type === 'message.updated')
    return { ...now, messages: { ...messages, [payload.message.id]: payload.message } }
  if (type === 'message.deleted') {
    const { [payload.messageId]: _, ...rest } = {
      ...messages,
      ...(payload.parent && changed(payload.parent.id, { replyCount: payload.parent.replyCount })),
    }
    return { ...now, messages: rest }
  }
  if (type === 'reaction.added' || type === 'reaction.removed')
    return {
      ...now,
      messages: { ...messages, ...changed(payload.messageId, { reactions: payload.reactions }) },
    }
  if (type === 'channel.member_joined' || type === 'channel.member_updated') {
    const { userId, user, role, custom, memberCount } = payload
    return {
      ...now,
      memberCount,
      members: byKey(Object.entries({ ...members, [userId]: { user, role, custom } })),
    }
  }
  if (type === 'channel.member_left') {
    const { [payload.userId]: _, ...rest } = members
    return { ...now, memberCount: payload.memberCount, members: rest }
  }
  if (type === 'channel.updated') {
    return { ...now, profile: profileOf(payload.channel) }
  }
  return now
}

/**
 * The list of a client that has fetched it once and then applied the events of its user's topic.
 */
export async function replicaOfUser(user: User) {
  const before = await fetchList(user)
  return {
    fetched: () => fetchList(user),
    after: (received: ReceivedEvent[]) => received.reduce(applyToList, before),
  }
}

async function fetchList(user: User) {
  const { channels } = await user.channels.list({ limit: 100 })
  return {
    total: (await user.reads.unreadCount()).count,
    channels: byKey(channels.map((channel) => [channel.id, entry(channel)])),
  }
}
const entry = ({
  type,
  name,
  image,
  description,
  starred,
  muted,
  unreadCount,
}: Omit<Channel, 'lastMessage'>) => ({
  type,
  // A direct message has the name and image of the other member.
  ...(type === 'messaging' ? {} : { name, image, description }),
  starred,
  muted,
  unread: unreadCount,
})
type ListState = Awaited<ReturnType<typeof fetchList>>

/** The list of a user before the first event. */
export const emptyList: ListState = { total: 0, channels: {} }

export function applyToList(
  state: ListState,
  { envelope: { type, payload } }: ReceivedEvent,
): ListState {
  const { channels } = state
  const change = (id: string, changes: Partial<ListState['channels'][string]>) => {
    const known = channels[id]
    return known ? { ...state, channels: { ...channels, [id]: { ...known, ...changes } } } : state
  }
  if (type === 'channel.added')
    return {
      ...state,
      channels: byKey(
        Object.entries({ ...channels, [payload.channel.id]: entry(payload.channel) }),
      ),
    }
  if (type === 'channel.removed' || type === 'channel.deleted') {
    const { [payload.channelId]: _, ...rest } = channels
    return { ...state, channels: rest }
  }
  if (type === 'channel.settings_changed')
    return change(payload.channelId, { starred: payload.starred, muted: payload.muted })
  if (type === 'channel.updated') {
    const { name, image, description } = payload.channel
    return change(payload.channelId, { name, image, description })
  }
  if (type === 'channel.unread_changed') return change(payload.channelId, { unread: payload.count })
  return type === 'channel.total_unread_changed' ? { ...state, total: payload.count } : state
}

/**
 * A state with the latest profiles received. Only the users of `constant` keep their profile: the
 * others were not members all the time, so that some of their changes were not sent.
 */
export function withProfiles<T>(
  state: T,
  { received, constant }: { received: ReceivedEvent[]; constant: Set<string> },
): T {
  const profiles = new Map<string, UserSummary>()
  for (const { envelope } of received)
    if (envelope.type === 'user.updated')
      profiles.set(envelope.payload.user.id, envelope.payload.user)
  const profileOf = (user: UserSummary) =>
    constant.has(user.id) ? (profiles.get(user.id) ?? user) : { id: user.id }
  return JSON.parse(JSON.stringify(state), (_, value) =>
    isSummary(value) ? profileOf(value) : value,
  ) as T // a copy
}
const isSummary = (value: unknown): value is UserSummary =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).sort().join() === 'id,image,name'

const byKey = <T>(entries: [string, T][]): Record<string, T> =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
const notOwn = (message: Message): Message => ({
  ...message,
  reactions: message.reactions.map((reaction) => ({ ...reaction, own: false })),
})
