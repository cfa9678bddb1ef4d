import type { TopicEvent } from './channel/state.ts'
import { follow, type Listed, merge, placed, renamed, withSettings } from './channels.ts'
import type { Engine } from './engine.ts'
import { type ChatError, toChatError } from './error.ts'
import { createStore, type Store } from './store.ts'
import type { Channel as ChannelRecord, UserEvents } from './types.ts'

/** Which channels: all of the user's, or those of one type. */
export type ChannelsFilter = { type?: 'messaging' | 'group' | 'team' | 'livestream' | undefined }
export type ChannelsSnapshot = {
  /** Newest activity first. */
  items: readonly ChannelRecord[]
  status: 'loading' | 'ready' | 'stale' | 'failed'
  hasMore: boolean
  /** Unread messages over all channels of the user, whether listed or not. */
  totalUnread: number
  error?: ChatError | undefined
}
export type ChannelsStore = Store<ChannelsSnapshot> & { loadMore(): Promise<void> }
export type Unread = { total: number; byChannel: Readonly<Record<string, number>> }

type List = { filter: ChannelsFilter; store: ChannelsStore; refresh: () => void; load: () => Promise<void>; isStale: () => void }
const PAGE = 50
/** Of so many listed channels the topics are heard. */
const FOLLOWED = 500

/** The user's channels, as far as they are known, and lists of them. */
export class Directory {
  readonly #channels = new Map<string, Listed>()
  readonly #lists = new Map<string, List>()
  readonly #followed = new Map<string, () => void>()
  /** When counts were last heard of, by channel; `total` for the sum. A tick is one event. */
  readonly #heard = new Map<string, number>()
  readonly #unread: ReturnType<typeof createStore<Unread>>
  #tick = 0

  constructor(
    readonly engine: () => Engine,
    report: (error: unknown) => void,
  ) {
    this.#unread = createStore<Unread>({ total: 0, byChannel: {} }, { report })
  }

  get unread(): Store<Unread> {
    return this.#unread
  }

  get(channelId: string) {
    return this.#channels.get(channelId)?.channel
  }

  list(filter: ChannelsFilter = {}): ChannelsStore {
    const key = filter.type ?? ''
    const list = this.#lists.get(key) ?? this.#createList(filter)
    this.#lists.set(key, list)
    return list.store
  }

  /** An event of a channel's topic. */
  hear(channelId: string, event: TopicEvent) {
    const listed = this.#channels.get(channelId)
    if (!listed) return
    if (event.type === 'channel.deleted') return this.remove(channelId)
    const { isUnclear, ...next } = follow(listed, event, this.#me)
    if (next.channel === listed.channel) return
    this.#channels.set(channelId, next)
    if (isUnclear) this.ask(channelId)
    this.#refresh()
  }

  /** An event of the user's own topic. */
  hearOwn(event: { [Type in keyof UserEvents]: { type: Type; payload: UserEvents[Type] } }[keyof UserEvents]) {
    this.#tick += 1
    if (event.type === 'channel.added') this.take({ ...event.payload.channel, lastMessage: null }, { since: this.#tick, isWhole: false })
    if (event.type === 'channel.removed' || event.type === 'channel.deleted') this.remove(event.payload.channelId)
    if (event.type === 'channel.updated')
      this.#change(event.payload.channelId, (listed) => ({ ...listed, channel: { ...listed.channel, ...event.payload.channel } }))
    if (event.type === 'channel.settings_changed') this.#change(event.payload.channelId, (listed) => withSettings(listed, event.payload))
    if (event.type === 'user.updated') for (const id of this.#channels.keys()) this.#change(id, (listed) => renamed(listed, event.payload.user, this.#me))
    if (event.type === 'channel.unread_changed') this.#hearUnread(event.payload)
    if (event.type === 'channel.total_unread_changed') {
      this.#heard.set('total', this.#tick)
      this.#unread.set({ ...this.#unread.getSnapshot(), total: event.payload.count })
      this.#refresh()
    }
  }

  /** A channel as the server gave it in answer to a question asked at tick `since`. */
  take(channel: ChannelRecord, { since, isWhole = true }: { since: number; isWhole?: boolean }) {
    this.#channels.set(channel.id, merge(this.#channels.get(channel.id), channel, { isHeard: (this.#heard.get(channel.id) ?? 0) > since }))
    if (!isWhole) this.ask(channel.id)
    this.#refresh()
  }

  remove(channelId: string) {
    this.#followed.get(channelId)?.()
    this.#followed.delete(channelId)
    if (this.#channels.delete(channelId)) this.#refresh()
  }

  /** Asks the server how a channel is now. */
  ask(channelId: string) {
    const since = this.#tick
    this.engine().catchUp.ask(channelId, {
      since: null,
      take: ({ channel, removed }) => {
        if (removed) this.remove(channelId)
        if (channel) this.take(channel, { since })
        return 'told'
      },
    })
  }

  /** The connection is lost: counts and lists may no longer be true. */
  pause() {
    for (const list of this.#lists.values()) list.isStale()
  }

  /** Connected again: `isWhole` when no event of the user's topic was missed. */
  async resume({ isWhole }: { isWhole: boolean }) {
    const total = this.#loadTotal()
    if (!isWhole) this.#channels.clear()
    for (const channelId of this.#channels.keys()) this.ask(channelId)
    const lists = [...this.#lists.values()].map((list) => list.load())
    await Promise.all([total, ...lists])
  }

  async #loadTotal() {
    const since = this.#tick
    const { count } = await this.engine().api.reads.unreadCount()
    if ((this.#heard.get('total') ?? 0) > since) return
    this.#unread.set({ ...this.#unread.getSnapshot(), total: count })
    this.#refresh()
  }

  #hearUnread({ channelId, count }: UserEvents['channel.unread_changed']) {
    this.#heard.set(channelId, this.#tick)
    const listed = this.#channels.get(channelId)
    if (listed) this.#change(channelId, ({ channel, place }) => ({ channel: { ...channel, unreadCount: count }, place }))
    else this.ask(channelId)
  }

  #change(channelId: string, change: (listed: Listed) => Listed) {
    const listed = this.#channels.get(channelId)
    if (!listed) return
    this.#channels.set(channelId, change(listed))
    this.#refresh()
  }

  #refresh() {
    const known = [...this.#channels.values()].map(({ channel }): [string, number] => [channel.id, channel.unreadCount])
    const { total, byChannel } = this.#unread.getSnapshot()
    const isSame = known.length === Object.keys(byChannel).length && known.every(([id, count]) => byChannel[id] === count)
    if (!isSame) this.#unread.set({ total, byChannel: Object.fromEntries(known) })
    for (const list of this.#lists.values()) list.refresh()
  }

  #follow(channels: readonly ChannelRecord[]) {
    for (const { id, rev } of channels) {
      if (this.#followed.has(id) || this.#followed.size >= FOLLOWED) continue
      this.#followed.set(id, () => {})
      const leave = this.engine().topics.join(id, ({ isRecovered, position }) => {
        // What happened between the record and the subscription was heard by nobody.
        if (!isRecovered && position.offset > (this.get(id)?.rev ?? rev)) this.ask(id)
      })
      if (this.#followed.has(id)) this.#followed.set(id, leave)
      else leave()
    }
  }

  #createList(filter: ChannelsFilter): List {
    let status: ChannelsSnapshot['status'] = 'loading'
    let error: ChatError | undefined
    let hasMore = true
    /** The place of the last channel that was paged to. */
    let frontier = Number.POSITIVE_INFINITY
    let loading: Promise<void> | undefined

    const compute = (): ChannelsSnapshot => {
      const shown = [...this.#channels.values()].filter(
        ({ channel, place }) => (!filter.type || channel.type === filter.type) && (!hasMore || place >= frontier),
      )
      const items = shown.sort((a, b) => b.place - a.place || b.channel.id.localeCompare(a.channel.id)).map(({ channel }) => channel)
      return { items, status, hasMore, totalUnread: this.#unread.getSnapshot().total, error }
    }
    const refresh = () => store.set(keep(store.getSnapshot(), compute()))
    const page = async (offset: number) => {
      const since = this.#tick
      const { channels } = await this.engine().api.channels.list({ ...filter, limit: PAGE, offset })
      const places = placed(channels)
      for (const channel of channels) {
        this.take(channel, { since })
        this.#change(channel.id, (listed) => ({ ...listed, place: Math.max(listed.place, places.get(channel.id) ?? 0) }))
      }
      hasMore = channels.length === PAGE
      frontier = Math.min(frontier, ...channels.map(({ id }) => this.#channels.get(id)?.place ?? frontier))
      this.#follow(channels)
    }
    const run = (work: () => Promise<void>) => {
      loading ??= work()
        .then(() => {
          status = 'ready'
          error = undefined
        })
        .catch((cause) => {
          status = 'failed'
          error = toChatError(cause)
          throw error
        })
        .finally(() => {
          loading = undefined
          refresh()
        })
      return loading
    }
    const load = () => run(() => page(0))
    const want = () => {
      if (status === 'loading' && this.engine().session()) load().catch(() => {})
    }
    const store = createStore<ChannelsSnapshot>(compute(), { report: this.engine().report, onWatched: want })
    return {
      filter,
      refresh,
      load,
      isStale: () => {
        if (status === 'ready') status = 'stale'
        refresh()
      },
      store: {
        subscribe: store.subscribe,
        getSnapshot: () => {
          if (!loading) queueMicrotask(want)
          return store.getSnapshot()
        },
        loadMore: () => (hasMore ? run(() => page(compute().items.length)) : Promise.resolve()),
      },
    }
  }

  get #me() {
    return this.engine().session()?.user.id ?? ''
  }
}

/** The new snapshot, or the old one if nothing in it has changed. */
function keep(before: ChannelsSnapshot, after: ChannelsSnapshot): ChannelsSnapshot {
  const isSameList = before.items.length === after.items.length && before.items.every((item, index) => item === after.items[index])
  const { status, hasMore, totalUnread, error } = before
  const isSame = isSameList && status === after.status && hasMore === after.hasMore && totalUnread === after.totalUnread && error === after.error
  return isSame ? before : { ...after, items: isSameList ? before.items : after.items }
}
