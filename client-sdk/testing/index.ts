import { ChatError, loggedOut } from '../calls/error.ts'
import type { ChannelsFilter, ChannelsSnapshot, ChannelsStore } from '../channels/list.ts'
import type { Unread } from '../channels/unread.ts'
import type { ChatClient } from '../chat-client.ts'
import type { Channel, TokenResult, UserApi, UserSummary } from '../generated/types.ts'
import type { ConnectionState } from '../realtime/connection.ts'
import { type ChatEvent, createEmitter } from '../realtime/events.ts'
import type { Presence } from '../realtime/presence.ts'
import { createFakeRoom, type FakeRoom, type FakeRoomParts, profileOf } from './room.ts'
import { constantly } from './stores.ts'

export type { FakeRoom } from './room.ts'

/** The operations that a test answers itself, by noun. */
export type FakeApi = { [Noun in keyof UserApi]?: Partial<UserApi[Noun]> }
/** Options of `createFakeChat`. */
export type FakeChatOptions = {
  /** The user; `me` by default. */
  me?: string | UserSummary
  /** The user's channels; what a record omits has a default. */
  channels?: readonly (Partial<Channel> & { id: string })[]
  /** Answers to calls of `chat.api`; any other call rejects. */
  api?: FakeApi
}

/**
 * A chat client in memory, for unit tests of an application: no server, no network, no timers. It
 * is live from the start.
 */
export interface FakeChat extends ChatClient {
  /** The room of a channel, which is added if it does not exist. */
  channel(channelId: string): FakeRoom
  /** The same for a direct message: the channel `dm-<userId>`. */
  dm(userId: string): Promise<FakeRoom>
  /**
   * Offline messages stay pending until it is online again. `connect()`, which `ChatProvider`
   * calls, leaves it offline.
   */
  setOnline(isOnline: boolean): void
  /** Shows whether a user is online. */
  setPresence(userId: string, presence: Presence): void
  /** Calls the listeners of `on`. */
  emit(event: ChatEvent): void
}

/** Makes a fake chat client. */
export function createFakeChat({ me: user = 'me', ...options }: FakeChatOptions = {}): FakeChat {
  const me = profileOf(user)
  const rooms = new Map<string, FakeRoomParts>()
  const lists = new Map<string, ReturnType<typeof createList>>()
  const presences = new Map<string, ReturnType<typeof constantly<Presence>>>()
  const connection = constantly<ConnectionState>({ status: 'live', reconnectInMs: null })
  const unread = constantly<Unread>({ total: 0, byChannel: {} })
  const events = createEmitter((error) => console.error(error))
  const current = constantly<TokenResult['user'] | null>(me)
  const isEnded = () => current.getSnapshot() === null
  const isOnline = () => connection.getSnapshot().status === 'live'

  /** The channels in which something was sent, newest last. */
  const active = new Set<string>()
  const records = () => {
    const order = [...active]
    const compare = (a: Channel, b: Channel) =>
      order.indexOf(b.id) - order.indexOf(a.id) || activityOf(b).localeCompare(activityOf(a))
    return [...rooms.values()].map(({ record }) => record()).sort(compare)
  }
  const refresh = () => {
    const counts = records().map(({ id, unreadCount }) => [id, unreadCount] as const)
    const total = counts.reduce((sum, [, count]) => sum + count, 0)
    unread.set({ total, byChannel: Object.fromEntries(counts) })
    for (const [type, list] of lists) list.set(listOf(type))
  }
  const listOf = (type: string): ChannelsSnapshot => {
    const items = records().filter((each) => type === '' || each.type === type)
    return { items, status: 'ready', hasMore: false, totalUnread: unread.getSnapshot().total }
  }
  const add = (given: Partial<Channel> & { id: string }): FakeRoom => {
    const parts = createFakeRoom(channelOf(given, me), {
      me,
      isOnline,
      isEnded,
      onChannel: refresh,
      onStored: () => {
        active.delete(given.id)
        active.add(given.id)
      },
      onSent: (message) => {
        const payload = { channelId: given.id, message }
        events.emit({ type: 'message.new', topic: given.id, channelId: given.id, payload })
      },
    })
    rooms.set(given.id, parts)
    refresh()
    return parts.room
  }
  /** Whether there is a network, as the test says. */
  let isReachable = true
  const showLive = (isLive: boolean) => {
    connection.set({ status: isLive ? 'live' : 'offline', reconnectInMs: null })
    for (const { flush } of rooms.values()) flush()
  }
  const presenceOf = (userId: string) => {
    const known =
      presences.get(userId) ?? constantly<Presence>({ isOnline: false, lastActiveAt: null })
    presences.set(userId, known)
    return known
  }
  const channel = (id: string) => rooms.get(id)?.room ?? add({ id })
  for (const each of options.channels ?? []) add(each)
  return {
    api: fakeApi(options.api ?? {}),
    connection,
    me: current,
    unread,
    connect: async () => {
      if (isEnded()) throw loggedOut()
      if (isReachable) showLive(true)
    },
    disconnect: () => showLive(false),
    logout: async () => {
      if (isEnded()) return
      showLive(false)
      current.set(null)
      events.emit({ type: 'logout' })
      for (const { clear } of rooms.values()) clear()
    },
    wake: () => {},
    channels: ({ type: filter }: ChannelsFilter = {}): ChannelsStore => {
      const type = filter ?? ''
      const list = lists.get(type) ?? createList(listOf(type))
      lists.set(type, list)
      return list
    },
    channel,
    dm: async (userId) => {
      const id = `dm-${userId}`
      return rooms.get(id)?.room ?? add({ id, type: 'messaging', name: userId, role: 'owner' })
    },
    presence: presenceOf,
    on: (type: string, listener: (event: never) => void) =>
      events.on(type, listener as (event: ChatEvent) => void), // gets events of that type
    setOnline: (isOnline) => {
      isReachable = isOnline
      if (!isEnded()) showLive(isOnline)
    },
    setPresence: (userId, presence) => presenceOf(userId).set(presence),
    emit: events.emit,
  }
}

const createList = (snapshot: ChannelsSnapshot) =>
  Object.assign(constantly(snapshot), { loadMore: async () => {} })

const channelOf = (given: Partial<Channel> & { id: string }, me: UserSummary): Channel => ({
  ...{ cid: `${given.type ?? 'group'}:${given.id}`, name: given.id, type: 'group' },
  ...{ image: null, description: null },
  ...{ workspaceId: null, createdBy: me.id, memberCount: 2, unreadCount: 0, unreadVersion: 0 },
  ...{ lastMessage: null, lastReadSeq: 0, role: 'member', starred: false, muted: false, rev: 0 },
  ...{ frozen: false, custom: {}, createdAt: '2026-01-01T00:00:00.000Z' },
  ...{ updatedAt: '2026-01-01T00:00:00.000Z', ...given },
})

const activityOf = ({ lastMessage, createdAt }: Channel) => lastMessage?.createdAt ?? createdAt

/** The calls of a test; any other rejects and says which one is missing. */
function fakeApi(given: FakeApi): UserApi {
  const nounOf = (noun: string, calls: object) =>
    new Proxy(calls, {
      get: (known, name) =>
        Reflect.get(known, name) ??
        (async () => {
          const message = `the fake has no answer to ${noun}.${String(name)}; pass it as api`
          throw new ChatError(message, { code: 'NOT_FOUND' })
        }),
    })
  const nouns = new Proxy(given, {
    get: (known, noun) => nounOf(String(noun), Reflect.get(known, noun) ?? {}),
  })
  return nouns as UserApi // each call is there, if only to reject
}
