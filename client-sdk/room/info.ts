import { type ChatError, toChatError } from '../calls/error.ts'
import { createRetries } from '../calls/retry.ts'
import type { ClientContext } from '../context.ts'
import type { Channel } from '../generated/types.ts'
import { createStore, type Store, setIfChanged } from '../shared/store.ts'
import type { LoadStatus } from './resources.ts'

/** The record of a channel, as far as it is known. */
export type RoomInfo = {
  /** The record; undefined until it is loaded, and where the user may not read it. */
  channel: Channel | undefined
  /** Whether it is loaded and up to date. */
  status: LoadStatus
  /** Why `status` is `failed`. */
  error?: ChatError | undefined
}

/** The live record of one channel: from the lists if one has it, else loaded once it is used. */
export class RoomInfoStore {
  readonly store: Store<RoomInfo>
  readonly #inner: ReturnType<typeof createStore<RoomInfo>>
  #loading: Promise<void> | undefined
  #error: ChatError | undefined
  /** Why access was lost. A new watcher asks again: who leaves a public channel may still read. */
  #lostWith: ChatError | undefined
  readonly #retries = createRetries(() => this.reload())

  constructor(
    readonly channelId: string,
    readonly context: ClientContext,
  ) {
    const onWatched = () => this.#load()
    this.#inner = createStore(this.#compute(), { onError: context.onError, onWatched })
    const getSnapshot = () => {
      this.redraw()
      return this.#inner.getSnapshot()
    }
    this.store = { subscribe: this.#inner.subscribe, getSnapshot }
  }

  get isWatched() {
    return this.#inner.isWatched
  }

  redraw() {
    setIfChanged(this.#inner, this.#compute())
  }

  /** Handles that the user may not, or no longer, read the channel. */
  handleAccessLost(error: ChatError) {
    this.#retries.end()
    this.#error = error
    this.#lostWith = error
    this.redraw()
  }

  /** The server's reason for refusing a channel that was never shown: it may not exist. */
  async refusal(): Promise<ChatError | undefined> {
    const call = this.context.api.channels.get({ channelId: this.channelId })
    const error = await call.then(() => undefined, toChatError)
    return error?.retryable ? undefined : error
  }

  /** Loads again, because there may be an answer now. */
  reload() {
    this.#error = undefined
    if (this.#inner.isWatched) this.#load()
    this.redraw()
  }

  #load() {
    const { records } = this.context
    if (this.#error === this.#lostWith) this.#error = undefined
    if (this.#loading || this.#error || records.get(this.channelId)) return
    this.#loading = records
      .load(this.channelId)
      .then(this.#retries.end, (cause) => {
        this.#error = toChatError(cause)
        if (this.#error.retryable) this.#retries.later(this.#error)
      })
      .finally(() => {
        this.#loading = undefined
        this.redraw()
      })
    this.redraw()
  }

  #compute(): RoomInfo {
    const { records, link } = this.context
    const channel = records.shown(this.channelId)
    if (channel) {
      const isLive = link.state.getSnapshot().status === 'live'
      return { channel, status: isLive ? 'ready' : 'stale' }
    }
    const status = this.#loading ? 'loading' : 'idle'
    return { channel, status: this.#error ? 'failed' : status, error: this.#error }
  }
}
