import { type ChatError, toChatError } from '../calls/error.ts'
import { createRetries } from '../calls/retry.ts'
import type { SharedContext } from '../context.ts'
import { CHANNELS_PER_PAGE } from '../generated/limits.ts'
import type { Channel, UserApi } from '../generated/types.ts'
import { keepIfEqual } from '../shared/equality.ts'
import { createStore, type Store, setIfChanged, type WritableStore } from '../shared/store.ts'
import type { Merge } from './record-load.ts'
import type { ListedChannel } from './reducer.ts'

/** Which of the user's channels: all, or those of one type. */
export type ChannelsFilter = {
  /** By default all of them. */
  type?: 'messaging' | 'group' | 'team' | 'livestream' | undefined
}
/** A list of the user's channels. */
export type ChannelsSnapshot = {
  /** Newest activity first. */
  items: readonly Channel[]
  /** `stale`: shown from before, and not known to be up to date. */
  status: 'loading' | 'ready' | 'stale' | 'failed'
  /** Whether `loadMore()` has more of them. */
  hasMore: boolean
  /** Unread messages in all channels of the user, listed or not. */
  totalUnread: number
  /** Why the list could not be loaded. */
  error?: ChatError | undefined
}
/** A live list of channels. Paging rejects with a ChatError. */
export type ChannelsStore = Store<ChannelsSnapshot> & {
  /** Loads the next page; rejects with a ChatError. */
  loadMore(): Promise<void>
}

type ChannelListOptions = {
  filter: ChannelsFilter
  context: SharedContext
  channels: ReadonlyMap<string, ListedChannel>
  /** A record as it is shown: without what the user is reading now. */
  show: (channel: Channel) => Channel
  totalUnread: () => number
  /**
   * Call before fetching; returns a function that merges the page and returns its last sort key.
   */
  startFetch: () => Merge
  /** Called when the list has dropped channels that were paged to. */
  onTrimmed: () => void
}

const PAGE_SIZE = 50
/** How many channels of a list that nobody watches are loaded again after an outage. */
const MAX_UNWATCHED = 200

/** One list of the user's channels: from the newest activity down to where it was paged. */
export class ChannelList {
  readonly store: ChannelsStore
  readonly #inner: WritableStore<ChannelsSnapshot>
  #status: ChannelsSnapshot['status'] = 'loading'
  #error: ChatError | undefined
  #hasMore = true
  /** The sort key of the last channel that was paged to. */
  #lastSortKey = Number.POSITIVE_INFINITY
  #loading: Promise<void> | undefined
  /** Whether the running load has started on the current connection. */
  #isLoadCurrent = false
  readonly #retries = createRetries(() => {
    if (this.#status !== 'failed') return
    this.#status = 'loading'
    this.#loadIfNeeded()
  })

  constructor(readonly options: ChannelListOptions) {
    const loadIfNeeded = () => this.#loadIfNeeded()
    this.#inner = createStore<ChannelsSnapshot>(this.#compute(), {
      onError: options.context.onError,
      onWatched: loadIfNeeded,
    })
    this.store = {
      subscribe: this.#inner.subscribe,
      getSnapshot: () => {
        if (this.#status === 'loading' && !this.#loading) queueMicrotask(loadIfNeeded)
        return this.#inner.getSnapshot()
      },
      loadMore: () => {
        if (!this.#hasMore) return Promise.resolve()
        return this.#loading ?? this.#run((isCurrent) => this.#loadMore(isCurrent))
      },
    }
  }

  redraw() {
    const next = this.#compute()
    const items = keepIfEqual(this.#inner.getSnapshot().items, next.items)
    setIfChanged(this.#inner, { ...next, items })
  }

  get isReady() {
    return this.#status === 'ready'
  }

  /** The running load. */
  get currentLoad() {
    return this.#loading
  }

  get items() {
    return this.#inner.getSnapshot().items
  }

  /** Shows the channels down to this sort key, as stale, unless it has loaded. */
  restore(sortKey: number) {
    if (this.#status !== 'loading' && this.#status !== 'failed') return
    this.#status = 'stale'
    this.#lastSortKey = sortKey
    this.redraw()
  }

  /** Forgets what it shows, which is of another epoch or app. */
  startOver() {
    this.#status = 'loading'
    this.#lastSortKey = Number.POSITIVE_INFINITY
    this.#hasMore = true
    this.redraw()
  }

  handleDisconnect() {
    if (this.#status === 'ready') this.#status = 'stale'
    this.#isLoadCurrent = false
    // The next connection loads it again.
    this.#retries.end()
    this.redraw()
  }

  /** Called at reconnects only: while connected, a list may be paged without being watched. */
  trim() {
    const [last, beyond] = this.#listed().slice(MAX_UNWATCHED - 1)
    if (this.#loading || this.#inner.isWatched || !last || !beyond) return
    this.#lastSortKey = last.sortKey
    this.#hasMore = true
    this.redraw()
    this.options.onTrimmed()
  }

  /**
   * Loads the list again: everything that was paged to, or if no event was missed the first page.
   */
  async reload({ gap }: { gap?: object | undefined }) {
    // A load of an earlier connection may be lost with it.
    if (this.#loading && this.#isLoadCurrent) {
      if (this.#lastSortKey === Number.POSITIVE_INFINITY) return this.#loading
      await this.#loading.catch(() => {})
    }
    const listed = gap ? this.#listed().length : 0
    await this.#run((isCurrent) => this.#loadFirst(Math.max(listed, PAGE_SIZE), isCurrent))
  }

  #loadIfNeeded() {
    if (this.#status !== 'loading' || this.#loading || !this.options.context.userSession()) return
    // While connecting it is not loaded, because the connection does that once events arrive.
    if (this.#connection === 'offline' || !this.options.context.catchUp.isHeld)
      this.reload({ gap: this }).catch(() => {})
  }

  /** Runs a load, which must change nothing once another has begun on a later connection. */
  #run(load: (isCurrent: () => boolean) => Promise<void>): Promise<void> {
    this.#isLoadCurrent = this.options.context.link.isConnected
    const loading: Promise<void> = load(() => loading === this.#loading).then(
      () => this.#settle(loading),
      (cause) => {
        const error = toChatError(cause)
        this.#settle(loading, error)
        throw error
      },
    )
    this.#loading = loading
    return loading
  }

  /** Takes the outcome of a load. */
  #settle(loading: Promise<void>, error?: ChatError) {
    if (loading !== this.#loading) return
    this.#loading = undefined
    this.#status = error ? 'failed' : 'ready'
    this.#error = error
    if (!error) this.#retries.end()
    else if (error.retryable && this.#connection !== 'offline') this.#retries.later(error)
    this.redraw()
  }

  async #loadFirst(count: number, isCurrent: () => boolean) {
    const merge = this.options.startFetch()
    const channels: Channel[] = []
    let settingsVersion = Number.POSITIVE_INFINITY
    let page: Awaited<ReturnType<UserApi['channels']['list']>>
    let first: typeof page | undefined
    do {
      const limit = Math.min(CHANNELS_PER_PAGE, count - channels.length)
      page = await this.#fetchPage(channels.length, limit)
      channels.push(...page.channels)
      first ??= page
      // The version of the oldest page counts for all. A page without channels has none.
      if (page.channels.length > 0)
        settingsVersion = Math.min(settingsVersion, page.settingsVersion)
    } while (page.more && channels.length < count)
    if (!isCurrent()) return
    const lastSortKey = merge(channels, settingsVersion, first)
    // Channels that were paged to beyond the first page stay listed.
    if (page.more && lastSortKey > this.#lastSortKey && count === PAGE_SIZE) return
    this.#lastSortKey = lastSortKey
    this.#hasMore = page.more ?? false
  }

  async #loadMore(isCurrent: () => boolean) {
    const merge = this.options.startFetch()
    const page = await this.#fetchPage(this.#listed().length, PAGE_SIZE)
    if (!isCurrent()) return
    this.#lastSortKey = Math.min(this.#lastSortKey, merge(page.channels, page.settingsVersion))
    this.#hasMore = page.more ?? false
  }

  #fetchPage(offset: number, limit: number) {
    const { context, filter } = this.options
    return context.api.channels.list({ ...filter, limit, offset, total: !offset })
  }

  get #connection() {
    return this.options.context.link.state.getSnapshot().status
  }

  #listed(): ListedChannel[] {
    const { type } = this.options.filter
    const isListed = ({ channel, sortKey }: ListedChannel) =>
      channel.role !== null &&
      (!type || channel.type === type) &&
      (!this.#hasMore || sortKey >= this.#lastSortKey)
    return [...this.options.channels.values()]
      .filter(isListed)
      .sort((a, b) => b.sortKey - a.sortKey || b.channel.id.localeCompare(a.channel.id))
  }

  #compute(): ChannelsSnapshot {
    return {
      items: this.#listed().map(({ channel }) => this.options.show(channel)),
      status: this.#status,
      hasMore: this.#hasMore,
      totalUnread: this.options.totalUnread(),
      error: this.#error,
    }
  }
}
