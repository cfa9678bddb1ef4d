import type { Channel, Envelope, Message, UserSummary } from '@parley/contract'
import type { ReceivedEvent } from './realtime.ts'
import type { User } from './world.ts'

/** What a client that has fetched a channel once makes of its events. `rev` is where the fetched state stood. */
export async function replicaOfChannel(user: User, channelId: string) {
  let state = await fetchChannel(user, channelId)
  return {
    rev: state.rev,
    fetched: () => fetchChannel(user, channelId),
    after: (heard: ReceivedEvent[]) => {
      for (const { offset, envelope } of heard)
        if (offset !== undefined && offset > state.rev) state = next(state, { offset, envelope })
      return state
    },
  }
}

async function fetchChannel(user: User, channelId: string) {
  const {
    rev,
    name,
    image,
    description,
    updatedAt,
    memberCount,
    members = [],
  } = await user.channels.get({ channelId })
  const { messages } = await user.messages.list({ channelId, limit: 200 })
  return {
    rev,
    memberCount,
    profile: { name, image, description, updatedAt },
    members: byKey(members.map(({ userId, user, role }) => [userId, { user, role }])),
    messages: byKey(messages.map((message): [string, Message] => [message.id, notOwn(message)])),
  }
}
type ChannelState = Awaited<ReturnType<typeof fetchChannel>>

function next(
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
    const { userId, user, role, memberCount } = payload
    return {
      ...now,
      memberCount,
      members: byKey(Object.entries({ ...members, [userId]: { user, role } })),
    }
  }
  if (type === 'channel.member_left') {
    const { [payload.userId]: _, ...rest } = members
    return { ...now, memberCount: payload.memberCount, members: rest }
  }
  if (type === 'channel.updated') {
    const { name, image, description, updatedAt } = payload.channel
    return { ...now, profile: { name, image, description, updatedAt } }
  }
  return now
}

/** What a client that has fetched its channels once makes of the events of its user's own topic. */
export async function replicaOfUser(user: User) {
  const before = await fetchList(user)
  return {
    fetched: () => fetchList(user),
    after: (heard: ReceivedEvent[]) => heard.reduce(nextList, before),
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
  // A direct message has the name and face of the other one.
  ...(type === 'messaging' ? {} : { name, image, description }),
  starred,
  muted,
  unread: unreadCount,
})
type ListState = Awaited<ReturnType<typeof fetchList>>

function nextList(state: ListState, { envelope: { type, payload } }: ReceivedEvent): ListState {
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

/** The same with the latest face of everybody of whom a new one was heard, and without the faces of all but those who were there all the time. */
export function withFaces<T>(
  state: T,
  { heard, constant }: { heard: ReceivedEvent[]; constant: Set<string> },
): T {
  const faces = new Map(
    heard.flatMap(({ envelope }) =>
      envelope.type === 'user.updated'
        ? [[envelope.payload.user.id, envelope.payload.user] as const]
        : [],
    ),
  )
  const face = (user: UserSummary) =>
    constant.has(user.id) ? (faces.get(user.id) ?? user) : { id: user.id }
  return JSON.parse(JSON.stringify(state), (_, value) =>
    isSummary(value) ? face(value) : value,
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
