import { createCalls } from './api.ts'
import { browser, onWake } from './browser.ts'
import { CatchUp, type LiveContext } from './catch-up.ts'
import { ChannelsCache, type Unread } from './channels/cache.ts'
import type { ChannelsFilter, ChannelsStore } from './channels/list.ts'
import { Connection, type ConnectionState } from './connection.ts'
import { type ChatEvent, type ChatEvents, createEmitter } from './events.ts'
import { Outbox } from './outbox.ts'
import { type Presence, Presences } from './presence.ts'
import { Room } from './room/index.ts'
import type { TopicEvent } from './room/reducer.ts'
import { indexedDbStorage, memoryStorage, type OutboxStorage } from './storage.ts'
import { createStore, type Store } from './store.ts'
import { type TokenProvider, Tokens } from './tokens.ts'
import { Topics } from './topics.ts'
import type { TokenResult, UserApi, UserEvents } from './types.ts'

/** What `createChatClient` needs: the server's address, and where tokens come from. */
export type ChatClientOptions = {
  /** Where the server is: `https://chat.example.com`. */
  url: string
  /** Answers with what your backend got from `POST /tokens`; called again before it expires. */
  token: TokenProvider
  /** Where the outbox lives: `indexeddb` by default in browsers, `memory` elsewhere, or a storage of your own. */
  storage?: 'indexeddb' | 'memory' | OutboxStorage | undefined
  /** What calls go through instead of the global `fetch`: for tests, offline switches, or a proxy of your own. */
  fetch?: typeof fetch | undefined
  /** What the socket is made of instead of the global `WebSocket` (in Node.js, that of `ws`). */
  webSocket?: typeof WebSocket | undefined
  /** Told of what fails in the background, such as a listener that throws; `console.error` by default. */
  onError?: ((error: unknown) => void) | undefined
}

/** A chat client for one user. Nothing happens before `connect()`, or the first call of an operation. */
export const createChatClient = (options: ChatClientOptions): ChatClient => new ChatClient(options)

type UserEvent = {
  [Type in keyof UserEvents]: { type: Type; payload: UserEvents[Type] }
}[keyof UserEvents]

/** Everything a front end needs to chat as one user: see `createChatClient`. */
export class ChatClient {
  /** Every operation of a user as a typed call. Rejects with a ChatError; repeated where that is safe. */
  readonly api: UserApi
  readonly #context: LiveContext
  readonly #cache: ChannelsCache
  readonly #tokens: Tokens
  readonly #presences: Presences
  readonly #me: ReturnType<typeof createStore<TokenResult['user'] | null>>
  readonly #channels = new Map<string, Room>()
  #session: TokenResult | undefined
  /** Whether the user's own topic was heard without a hole. */
  #isWhole = false
  #ends: (() => void)[] = []

  constructor({
    url,
    token,
    storage,
    fetch,
    webSocket,
    onError: report = (error) => console.error(error),
  }: ChatClientOptions) {
    this.#tokens = new Tokens(token, (result) => this.#identify(result))
    this.#me = createStore<TokenResult['user'] | null>(null, { report })
    const headers = async () => ({ authorization: `Bearer ${(await this.#tokens.get()).token}` })
    const renew = (sent: Record<string, string>) =>
      this.#tokens.renew({ token: sent.authorization?.slice('Bearer '.length) })
    const calls = (attempts: number) => createCalls({ url, fetch, headers, renew, attempts })
    this.api = calls(4)
    const context = () => this.#context
    const connection = new Connection({
      tokens: this.#tokens,
      webSocket,
      report,
      catchUp: () => this.#catchUp(),
    })
    const outbox = new Outbox({
      api: calls(1), // it repeats by itself
      storage: storageOf(storage),
      onChange: (channelId) => this.#channels.get(channelId)?.refresh(),
      onSent: (message) => this.#channels.get(message.channelId)?.sent(message),
      report,
    })
    this.#presences = new Presences(context)
    this.#context = {
      api: this.api,
      connection,
      events: createEmitter(report),
      outbox,
      topics: new Topics({
        connection,
        onEvent: (id, event) => this.#hear(id, event),
        onRefused: (id) => this.#refuse(id),
      }),
      catchUp: new CatchUp(context),
      session: () => this.#session,
      report,
    }
    this.#cache = new ChannelsCache(context, report)
  }

  /** How the client stands with the server. */
  get connection(): Store<ConnectionState> {
    return this.#context.connection.state
  }

  /** Who chats; null before the first token. */
  get me(): Store<TokenResult['user'] | null> {
    return this.#me
  }

  /** Unread messages in all, and by channel as far as channels are known. Absolute, as the server counts. */
  get unread(): Store<Unread> {
    return this.#cache.unread
  }

  /** Connects, however often it is called; resolves once everything shown is true, and keeps trying until then. Rejects only when `disconnect()` comes first. */
  connect(): Promise<void> {
    if (this.#ends.length === 0) {
      this.#tokens.start()
      this.#ends.push(onWake(() => this.#wake()))
      let before = this.connection.getSnapshot().status
      this.#ends.push(
        this.connection.subscribe(() => {
          const { status } = this.connection.getSnapshot()
          if (status === 'offline' && before !== 'offline') this.#pause()
          before = status
        }),
      )
    }
    return this.#context.connection.connect()
  }

  /** Closes the connection; stores keep what they show. Waiting messages stay in the outbox. */
  disconnect() {
    this.#context.connection.disconnect()
    this.#context.outbox.pause()
    this.#pause()
    this.#tokens.stop()
    for (const end of this.#ends.splice(0)) end()
  }

  /** The user's channels, newest activity first; of one type, if one is given. The same store for a filter each time. */
  channels(filter?: ChannelsFilter): ChannelsStore {
    return this.#cache.list(filter)
  }

  /** A channel by its id: cheap, nothing is asked; the same object each time. */
  channel(channelId: string): Room {
    const known = this.#channels.get(channelId) ?? new Room(channelId, this.#context)
    this.#channels.set(channelId, known)
    return known
  }

  /** The direct message with another user, made if need be. */
  async dm(userId: string): Promise<Room> {
    const { id } = await this.api.channels.create({ type: 'messaging', memberIds: [userId] })
    return this.channel(id)
  }

  /** Whether a user is online. */
  presence(userId: string): Store<Presence> {
    return this.#presences.of(userId)
  }

  /** Listens to events of one type, or with `*` to all; returns the unsubscribe. */
  on<Type extends keyof ChatEvents>(
    type: Type,
    listener: (event: ChatEvents[Type]) => void,
  ): () => void
  on(type: '*', listener: (event: ChatEvent) => void): () => void
  on(type: string, listener: (event: never) => void): () => void {
    return this.#context.events.on(type, listener as (event: ChatEvent) => void) // by its type, it is told only its own
  }

  #identify(result: TokenResult) {
    const { appId, user } = result
    const isNew = !this.#session
    if (this.#session && (this.#session.user.id !== user.id || this.#session.appId !== appId))
      throw new Error('the token provider changed users; make a client for each')
    this.#session = result
    this.#me.set(user)
    if (!isNew) return
    const { connection, topics, outbox } = this.#context
    connection.subscribe(`user:${appId}:${user.id}`, {
      onSubscribed: ({ isRecovered }) => {
        this.#isWhole = isRecovered
      },
      onEvent: (envelope, rev) =>
        this.#hearOwn({ ...(envelope as UserEvent), topic: `user:${appId}:${user.id}`, rev }), // the server holds it against the contract
      onRefused: () => {},
    })
    topics.open(appId)
    void outbox.open(`${appId}:${user.id}`)
  }

  #hear(channelId: string, event: TopicEvent) {
    this.#channels.get(channelId)?.hear(event)
    this.#cache.hear(channelId, event)
    const { rev, ...told } = event
    this.#context.events.emit({
      ...told,
      topic: `chat:${this.#session?.appId}:${channelId}`,
      channelId,
      rev,
    } as ChatEvent) // its type goes with its payload
    if (event.type === 'channel.deleted') this.#refuse(channelId)
  }

  #hearOwn(event: UserEvent & { topic: string; rev: number | undefined }) {
    this.#cache.hearOwn(event)
    const { type, payload } = event
    if (type === 'user.updated') this.#rename(payload.user)
    if (type === 'presence.online' || type === 'presence.offline')
      this.#presences.hear(payload.userId, {
        isOnline: type === 'presence.online',
        lastActiveAt: payload.lastActiveAt,
      })
    if (type === 'channel.removed' || type === 'channel.deleted') this.#refuse(payload.channelId)
    if (type === 'channel.added') {
      this.#context.topics.return(payload.channel.id)
      this.#channels.get(payload.channel.id)?.return()
    }
    // The channel's own topic tells it too, to those who are subscribed.
    this.#context.events.emit(event as ChatEvent)
  }

  #rename(user: UserEvents['user.updated']['user']) {
    for (const channel of this.#channels.values()) channel.rename(user)
    const me = this.#me.getSnapshot()
    if (me?.id === user.id) this.#me.set({ ...me, ...user })
  }

  #refuse(channelId: string) {
    this.#cache.remove(channelId)
    this.#channels.get(channelId)?.refuse('this channel is not yours to read any more')
  }

  #wake() {
    this.#context.connection.wake()
    this.#context.outbox.flush()
  }

  #pause() {
    this.#context.topics.pause()
    this.#cache.pause()
    for (const channel of this.#channels.values()) channel.pause()
  }

  /** Connected: learns what no event told. */
  async #catchUp() {
    const { catchUp, outbox } = this.#context
    outbox.flush()
    this.#presences.resume()
    await this.#cache.resume({ isWhole: this.#isWhole })
    await catchUp.run()
  }
}

function storageOf(
  storage: ChatClientOptions['storage'] = browser.indexedDB ? 'indexeddb' : 'memory',
): OutboxStorage {
  if (storage === 'indexeddb') return indexedDbStorage()
  return storage === 'memory' ? memoryStorage() : storage
}
