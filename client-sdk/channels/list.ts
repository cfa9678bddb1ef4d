import type { ClientContext } from '../context.ts'
import { type ChatError, toChatError } from '../error.ts'
import { createStore, type Store } from '../store.ts'
import type { Channel as ChannelRecord } from '../types.ts'
import type { Listed } from './reducer.ts'

/** Which channels: all of the user's, or those of one type. */
export type ChannelsFilter = { type?: 'messaging' | 'group' | 'team' | 'livestream' | undefined }
/** The user's channels as they are shown. */
export type ChannelsSnapshot = {
  /** Newest activity first. */
  items: readonly ChannelRecord[]
  status: 'loading' | 'ready' | 'stale' | 'failed'
  hasMore: boolean
  /** Unread messages over all channels of the user, whether listed or not. */
  totalUnread: number
  /** Why it could not be loaded. */
  error?: ChatError | undefined
}
/** A live list of channels. Paging rejects with a ChatError. */
export type ChannelsStore = Store<ChannelsSnapshot> & { loadMore(): Promise<void> }

type Options = {
  filter: ChannelsFilter
  context: () => ClientContext
  known: () => Iterable<Listed>
  total: () => number
  /** Takes in a page; answers with the place of its last channel. To be told before it is asked for. */
  asking: () => (page: ChannelRecord[]) => number
}

const PAGE = 50
const LARGEST_PAGE = 100
/** A list that could not be loaded is loaded again after so long. */
const RETRY_MS = 3_000

/** A list of the user's channels, from the newest activity on as far as it was paged. */
export class ChannelList {
  readonly store: ChannelsStore
  readonly #inner: ReturnType<typeof createStore<ChannelsSnapshot>>
  #status: ChannelsSnapshot['status'] = 'loading'
  #error: ChatError | undefined
  #hasMore = true
  /** The place of the last channel that was paged to. */
  #frontier = Number.POSITIVE_INFINITY
  #loading: Promise<void> | undefined
  /** What is being loaded was asked for since the connection is there. */
  #isFresh = false

  constructor(readonly options: Options) {
    const want = () => this.#want()
    this.#inner = createStore<ChannelsSnapshot>(this.#compute(), {
      report: options.context().report,
      onWatched: want,
    })
    this.store = {
      subscribe: this.#inner.subscribe,
      getSnapshot: () => {
        if (this.#status === 'loading' && !this.#loading) queueMicrotask(want)
        return this.#inner.getSnapshot()
      },
      loadMore: () =>
        this.#hasMore ? (this.#loading ?? this.#run(() => this.#loadMore())) : Promise.resolve(),
    }
  }

  refresh() {
    this.#inner.set(keep(this.#inner.getSnapshot(), this.#compute()))
  }

  /** The connection is lost. */
  pause() {
    if (this.#status === 'ready') this.#status = 'stale'
    this.#isFresh = false
    this.refresh()
  }

  /** Loads it anew: the first page when no event was missed, else all that is shown. */
  async reload({ isWhole }: { isWhole: boolean }) {
    const isFirst = this.#frontier === Number.POSITIVE_INFINITY
    if (this.#loading && this.#isFresh && isFirst) return this.#loading
    await this.#loading?.catch(() => {})
    await this.#run(() =>
      this.#loadFirst(isFirst || isWhole ? PAGE : Math.max(PAGE, this.#compute().items.length)),
    )
  }

  #want() {
    const { session } = this.options.context()
    if (
      this.#status === 'loading' &&
      !this.#loading &&
      session() &&
      this.#connection !== 'connecting'
    )
      this.reload({ isWhole: false }).catch(() => {})
  }

  #run(work: () => Promise<void>): Promise<void> {
    this.#isFresh = this.#connection === 'catching-up' || this.#connection === 'live'
    const loading = work()
      .then(
        () => {
          this.#status = 'ready'
          this.#error = undefined
        },
        (cause) => {
          this.#status = 'failed'
          this.#error = toChatError(cause)
          if (this.#error.retryable) this.#retryLater()
          throw this.#error
        },
      )
      .finally(() => {
        this.#loading = undefined
        this.refresh()
      })
    this.#loading = loading
    return loading
  }

  /** While offline nothing is tried: the whole is loaded when the connection is back. */
  #retryLater() {
    setTimeout(() => {
      if (this.#status !== 'failed' || this.#connection === 'offline') return
      this.#status = 'loading'
      this.#want()
    }, RETRY_MS)
  }

  async #loadFirst(count: number) {
    const take = this.options.asking()
    const found: ChannelRecord[] = []
    let hasMore = true
    while (hasMore && found.length < count) {
      const page = await this.#page(found.length, Math.min(LARGEST_PAGE, count - found.length))
      found.push(...page.channels)
      hasMore = page.hasMore
    }
    const last = take(found)
    // Of what was paged to before, the first page tells nothing.
    if (hasMore && last > this.#frontier && count === PAGE) return
    this.#frontier = last
    this.#hasMore = hasMore
  }

  async #loadMore() {
    const take = this.options.asking()
    const { channels, hasMore } = await this.#page(this.#compute().items.length, PAGE)
    this.#frontier = Math.min(this.#frontier, take(channels))
    this.#hasMore = hasMore
  }

  async #page(offset: number, limit: number) {
    const { channels } = await this.options
      .context()
      .api.channels.list({ ...this.options.filter, limit, offset })
    return { channels, hasMore: channels.length === limit }
  }

  get #connection() {
    return this.options.context().connection.state.getSnapshot().status
  }

  #compute(): ChannelsSnapshot {
    const { type } = this.options.filter
    const items = [...this.options.known()]
      .filter(
        ({ channel, place }) =>
          (!type || channel.type === type) && (!this.#hasMore || place >= this.#frontier),
      )
      .sort((a, b) => b.place - a.place || b.channel.id.localeCompare(a.channel.id))
      .map(({ channel }) => channel)
    return {
      items,
      status: this.#status,
      hasMore: this.#hasMore,
      totalUnread: this.options.total(),
      error: this.#error,
    }
  }
}

/** The new snapshot, or the old one if nothing in it has changed. */
function keep(before: ChannelsSnapshot, after: ChannelsSnapshot): ChannelsSnapshot {
  const isSameList =
    before.items.length === after.items.length &&
    before.items.every((item, index) => item === after.items[index])
  const { status, hasMore, totalUnread, error } = before
  const isSame =
    isSameList &&
    status === after.status &&
    hasMore === after.hasMore &&
    totalUnread === after.totalUnread &&
    error === after.error
  return isSame ? before : { ...after, items: isSameList ? before.items : after.items }
}
