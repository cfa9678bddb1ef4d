import { ColdStart } from './backing-store/cold-start.ts'
import { createStorage } from './backing-store/storage.ts'
import { loggedOut } from './calls/error.ts'
import { createUserCalls } from './calls/user-calls.ts'
import { ChannelsCache } from './channels/cache.ts'
import type { ChannelsFilter, ChannelsStore } from './channels/list.ts'
import type { Unread } from './channels/unread.ts'
import type { ChatClient } from './chat-client.ts'
import type { ChatClientOptions } from './client-options.ts'
import type { ClientContext } from './context.ts'
import type { TokenResult, UserApi } from './generated/types.ts'
import { createStepHandler } from './outbox/effects.ts'
import { Outbox } from './outbox/index.ts'
import { CatchUp } from './realtime/catch-up.ts'
import { Connection, type ConnectionState } from './realtime/connection.ts'
import { EventDispatcher } from './realtime/dispatcher.ts'
import { type ChatEvent, type ChatEvents, createEmitter } from './realtime/events.ts'
import { type Presence, PresenceStores } from './realtime/presence.ts'
import { Tokens } from './realtime/tokens.ts'
import { ChannelTopics } from './realtime/topics.ts'
import { LiveRoom, type Room } from './room/index.ts'
import { onSleep, onWake } from './shared/platform.ts'
import { createRecent } from './shared/recent.ts'
import { createStore, type Store, type WritableStore } from './shared/store.ts'

/** How many unwatched rooms keep their newest page. */
const KEPT_ROOMS = 20

/**
 * A chat client for one user. It does nothing before `connect()` or the first call of an operation.
 */
export const createChatClient = (options: ChatClientOptions): ChatClient => new LiveClient(options)

class LiveClient implements ChatClient {
  readonly api: UserApi
  readonly connection: Store<ConnectionState>
  readonly me: WritableStore<TokenResult['user'] | null>
  readonly unread: Store<Unread>
  readonly #context: ClientContext
  readonly #cache: ChannelsCache
  readonly #tokens: Tokens
  readonly #presences: PresenceStores
  readonly #rooms = new Map<string, LiveRoom>()
  /** The rooms that were left last. Those left earlier are freed. */
  readonly #left = createRecent(KEPT_ROOMS, (id) => this.#rooms.get(id)?.free())
  readonly #dispatcher: EventDispatcher
  readonly #coldStart: ColdStart
  #session: TokenResult | undefined
  /** The logout, here or in another tab: it ends the client for good. */
  #ended: Promise<void> | undefined
  /** Undoes what `connect()` has started. */
  #cleanups: (() => void)[] = []

  constructor({
    url,
    token,
    storage: choice,
    userId,
    snapshots,
    fetch,
    webSocket,
    onError = (error) => console.error(error),
  }: ChatClientOptions) {
    this.#tokens = new Tokens(token, (result) => this.#handleToken(result))
    this.me = createStore<TokenResult['user'] | null>(null, { onError })
    const calls = { url, fetch, tokens: this.#tokens }
    const { api, outboxApi, gate } = createUserCalls(calls)
    const storage = createStorage(choice)
    const emitter = createEmitter(onError)
    const own = { webSocket, onError, catchUp: () => this.#catchUp(), onConnected: gate.reopen }
    const link = new Connection({ ...calls, ...own })
    const outbox = new Outbox({
      ...{ api: outboxApi, gate, storage, link },
      onChanged: (channelId) => this.#rooms.get(channelId)?.redraw(),
      onStep: (step) => handleStep(step),
      onSent: (message) => this.#rooms.get(message.channelId)?.handleSent(message),
      isLoggedIn: (isAssumed) => this.#coldStart.isLoggedIn(isAssumed),
      onError,
    })
    const topics = new ChannelTopics({
      link,
      onEvent: (channelId, event) => this.#dispatcher.handleChannelEvent(channelId, event),
      onAccessLost: (channelId) => this.#dispatcher.handleAccessLost(channelId),
    })
    link.onOffline(() => this.#handleDisconnect())
    link.state.subscribe(() => this.#refreshInfo())
    const catchUp = new CatchUp({ api, link, emitter, presences: () => this.#presences })
    const known = {
      userSession: () => this.#session,
      user: () => this.me.getSnapshot() ?? this.#coldStart.user,
      note: (channelId?: string) => {
        this.#coldStart.keeper?.note(channelId)
        if (channelId === undefined) this.#refreshInfo()
      },
      keeper: () => this.#coldStart.keeper,
      isOpen: (channelId: string) => this.#rooms.get(channelId)?.isOpen ?? false,
      onLeft: (channelId: string) => this.#left.add(channelId),
    }
    this.api = api
    this.connection = link.state
    const shared = { api, gate, link, emitter, outbox, topics, catchUp, onError, ...known }
    this.#cache = new ChannelsCache(shared)
    this.unread = this.#cache.unread
    this.#context = { ...shared, records: this.#cache }
    this.#coldStart = new ColdStart({
      ...{ url, userId, storage, snapshots, onError },
      channels: this.#cache.restorable,
      rooms: this.#rooms,
      onRestored: (session) => {
        if (session.appId) this.me.set(session.user)
        void outbox.openFor(this.#coldStart.ownerOf(session))
      },
      onEnded: () => void this.#end({ isElsewhere: true }),
    })
    const handleStep = createStepHandler({ rooms: this.#rooms, records: this.#cache, emitter })
    this.#presences = new PresenceStores(this.#context)
    this.#dispatcher = new EventDispatcher({
      context: this.#context,
      rooms: this.#rooms,
      cache: this.#cache,
      presences: this.#presences,
      me: this.me,
      onEpoch: (epoch) => void this.#coldStart.keeper?.handleEpoch(epoch),
    })
  }

  connect(): Promise<void> {
    if (this.#ended) return Promise.reject(loggedOut())
    if (this.#cleanups.length === 0) {
      void this.#coldStart.restore()
      this.#tokens.begin()
      this.#cleanups.push(
        ...onWake((event) => this.wake(event)),
        ...onSleep(({ type }) => {
          this.#coldStart.keeper?.flush()
          this.#context.link.handleSleep()
          if (type === 'pagehide') this.#context.outbox.pause() // or no other page might send
        }),
      )
    }
    return this.#context.link.connect()
  }

  disconnect() {
    this.#context.link.disconnect()
    this.#context.outbox.pause()
    this.#tokens.halt()
    for (const cleanup of this.#cleanups.splice(0)) cleanup()
  }

  logout(): Promise<void> {
    return this.#end({ isElsewhere: false })
  }

  wake({ type }: { type?: string } = {}) {
    if (this.#cleanups.length === 0) return
    this.#context.gate.reopen()
    this.#context.link.wake()
    this.#context.outbox.flush({ isShown: type !== 'online' }) // which all windows are at once
  }

  channels(filter?: ChannelsFilter): ChannelsStore {
    return this.#cache.list(filter)
  }

  channel(channelId: string): Room {
    const known = this.#rooms.get(channelId)
    if (known) return known
    const room = new LiveRoom(channelId, this.#context)
    this.#rooms.set(channelId, room)
    this.#coldStart.keeper?.openRoom(room)
    return room
  }

  async dm(userId: string): Promise<Room> {
    const { id } = await this.api.channels.create({ type: 'messaging', memberIds: [userId] })
    return this.channel(id)
  }

  presence(userId: string): Store<Presence> {
    return this.#presences.get(userId)
  }

  on<Type extends keyof ChatEvents>(
    type: Type,
    listener: (event: ChatEvents[Type]) => void,
  ): () => void
  on(type: '*', listener: (event: ChatEvent) => void): () => void
  on(type: string, listener: (event: never) => void): () => void {
    // A listener of one type gets only events of that type.
    return this.#context.emitter.on(type, listener as (event: ChatEvent) => void)
  }

  #end(where: { isElsewhere: boolean }): Promise<void> {
    this.#ended ??= this.#clear(where)
    return this.#ended
  }

  async #clear(where: { isElsewhere: boolean }) {
    this.disconnect()
    this.me.set(null)
    this.#context.emitter.emit({ type: 'logout' })
    const session = await this.#coldStart.end()
    // First, because this tells other tabs that their session has ended.
    await this.#coldStart.clear(session)
    await this.#context.outbox.clear(session && this.#coldStart.ownerOf(session), where)
  }

  #handleToken(result: TokenResult) {
    const { appId, user } = result
    const known = this.#session
    if (known && (known.user.id !== user.id || known.appId !== appId))
      throw new Error('the token provider changed users')
    this.#coldStart.check(result)
    if (this.#ended) return
    this.#session = result
    this.me.set(user)
    if (known) return
    void this.#coldStart.begin(result)
    this.#dispatcher.begin(result)
    void this.#context.outbox.openFor(this.#coldStart.ownerOf(result))
  }

  /** The record of any channel may be another one, or the connection's state. */
  #refreshInfo() {
    for (const room of this.#rooms.values()) room.refreshInfo()
  }

  #handleDisconnect() {
    // Before it is no longer up to date.
    this.#coldStart.keeper?.flush()
    this.#context.topics.handleDisconnect()
    this.#context.catchUp.hold()
    this.#presences.handleDisconnect()
    this.#cache.handleDisconnect()
    for (const room of this.#rooms.values()) room.handleDisconnect()
  }

  /** Fetches what was missed, after connecting. */
  async #catchUp() {
    const { catchUp, outbox } = this.#context
    outbox.flush()
    this.#presences.handleReconnect()
    await Promise.all([this.#cache.handleReconnect(this.#dispatcher), catchUp.run()])
    await catchUp.run()
    // The user's topic was confirmed meanwhile: what happened before that may be missing.
    if (this.#dispatcher.gap) await this.#catchUp()
  }
}
