import { type ChatError, toChatError } from '../calls/error.ts'
import { createRetries } from '../calls/retry.ts'
import { type BufferedChange, LoadBuffer } from './load-buffer.ts'
import type { ChannelState } from './state.ts'

/** A part that is loaded by itself: `messages`, `members`, `reads`, `pins`, or `thread:<id>`. */
export type ResourceName = string
/** `stale`: loaded, but changes may be missing while the connection is lost or catching up. */
export type LoadStatus = 'idle' | 'loading' | 'ready' | 'stale' | 'failed'
type ResourceState = { status: LoadStatus; error?: ChatError | undefined }
/** Fetches a resource; resolves to a function that puts it into the state. */
export type Loader = () => Promise<(state: ChannelState) => ChannelState>
/** A load that has finished; `changes` arrived meanwhile. */
export type Loaded = { apply: (state: ChannelState) => ChannelState; changes: BufferedChange[] }

type ResourcesOptions = {
  loaderOf: (name: ResourceName) => Loader
  /** The resources that something watches. */
  watched: () => ResourceName[]
  /** Whether idle resources may be loaded: the channel is subscribed. */
  canLoad: () => boolean
  /** The status of a resource that was loaded just now. */
  loadedStatus: () => LoadStatus
  onLoaded: (name: ResourceName, loaded: Loaded) => void
  onChanged: () => void
}

/** The load states of a channel's resources. Each resource is loaded at most once at a time. */
export class Resources {
  readonly buffer = new LoadBuffer()
  readonly #states = new Map<ResourceName, ResourceState>()
  readonly #loads = new Map<ResourceName, Promise<void>>()
  /** Resolves when the messages have come that replace everything, to which the rest is added. */
  replaced: Promise<void> | undefined
  readonly #retries = createRetries(() => {
    this.invalidate(this.#failed())
    this.loadWatched()
  })

  constructor(readonly options: ResourcesOptions) {}

  get names() {
    return [...this.#states.keys()]
  }

  get(name: ResourceName): ResourceState {
    return this.#states.get(name) ?? { status: 'idle' }
  }

  /** The same to applications: what is there while it is loaded again may miss changes. */
  shown(name: ResourceName, there: object | null): ResourceState {
    const state = this.get(name)
    const isReloaded = there && ['idle', 'loading'].includes(state.status)
    return isReloaded ? { status: 'stale' } : state
  }

  set(name: ResourceName, state: ResourceState) {
    this.#states.set(name, state)
  }

  /** Moves every resource with the status `from` to the status `to`. */
  transition(from: LoadStatus, to: LoadStatus) {
    for (const [name, { status }] of this.#states) {
      if (status === from) this.#states.set(name, { status: to })
    }
  }

  /** Makes resources `idle`, to be loaded again; the results of running loads are ignored. */
  invalidate(names: ResourceName[]) {
    for (const name of names) {
      this.#states.delete(name)
      this.#loads.delete(name)
    }
  }

  /** Ignores the results of running loads, and drops scheduled ones. */
  abandonLoads() {
    this.endRetries()
    this.#loads.clear()
  }

  /** Drops scheduled loads: the next subscription loads what has failed. */
  endRetries() {
    this.#retries.end()
  }

  loadIfIdle(name: ResourceName) {
    const { canLoad } = this.options
    if (canLoad() && this.get(name).status === 'idle') void this.load(name).catch(() => {})
  }

  /** Loads what is watched and not loaded, and these first. */
  loadWatched(first: ResourceName[] = []) {
    const watched = new Set(['messages', ...this.options.watched()])
    for (const name of [...first, ...watched]) {
      if (watched.has(name)) this.loadIfIdle(name)
    }
  }

  load(name: ResourceName, loader = this.options.loaderOf(name)): Promise<void> {
    const running = this.#loads.get(name)
    if (running) return running
    const isCurrent = () => this.#loads.get(name) === load
    const load: Promise<void> = this.#load(name, { loader, isCurrent }).finally(() => {
      if (isCurrent()) this.#loads.delete(name)
    })
    this.#loads.set(name, load)
    return load
  }

  async #load(
    name: ResourceName,
    { loader, isCurrent }: { loader: Loader; isCurrent: () => boolean },
  ) {
    const { loadedStatus, onLoaded, onChanged } = this.options
    const recording = this.buffer.recordChanges()
    this.set(name, { status: this.get(name).status === 'stale' ? 'stale' : 'loading' })
    onChanged()
    try {
      const apply = await loader()
      if (name !== 'messages') await this.replaced
      if (!isCurrent()) return
      this.#loads.delete(name)
      this.set(name, { status: loadedStatus() })
      if (this.#failed().length === 0) this.#retries.end()
      onLoaded(name, { apply, changes: recording.changes() })
    } catch (cause) {
      if (!isCurrent()) return
      const error = toChatError(cause)
      // Who sees the failure may load it again at once.
      this.#loads.delete(name)
      this.set(name, { status: 'failed', error })
      if (error.retryable && this.options.canLoad()) this.#retries.later(error)
      throw error
    } finally {
      recording.halt()
      onChanged()
    }
  }

  /** The resources whose load failed and may succeed later. */
  #failed() {
    return this.names.filter((name) => this.get(name).error?.retryable)
  }
}
