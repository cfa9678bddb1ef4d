import { type ChatError, toChatError } from '../error.ts'
import { Journal } from './event-buffer.ts'
import type { ChannelState } from './reducer.ts'

/** A part of a channel that is loaded by itself: `main`, `members`, `reads`, `pins`, or `thread:<id>`. */
export type Part = string
/** Whether what is shown is true: `stale` while the connection is lost, until what was missed is known. */
export type Status = 'idle' | 'loading' | 'ready' | 'stale' | 'failed'
export type PartState = { status: Status; error?: ChatError | undefined }
/** Reads a part from the server; answers with how it goes into the state. */
export type Load = () => Promise<(state: ChannelState) => ChannelState>
type Heard = ReturnType<ReturnType<Journal['open']>['heard']>

type Options = {
  /** What a part that was loaded just now is. */
  fresh: () => Status
  /** A part was read, and this was heard meanwhile. */
  onLoaded: (part: Part, apply: (state: ChannelState) => ChannelState, heard: Heard) => void
  onFailed: (part: Part, error: ChatError) => void
  onChange: () => void
}

/** Which parts of a channel are known, and the loading of them, one load of a part at a time. */
export class Parts {
  readonly journal = new Journal()
  readonly #states = new Map<Part, PartState>()
  readonly #loading = new Map<Part, Promise<void>>()

  constructor(readonly options: Options) {}

  get names() {
    return [...this.#states.keys()]
  }

  of(part: Part): PartState {
    return this.#states.get(part) ?? { status: 'idle' }
  }

  set(part: Part, state: PartState) {
    this.#states.set(part, state)
  }

  /** Parts that are so become so. */
  turn(from: Status[], to: Status) {
    for (const [part, { status }] of this.#states)
      if (from.includes(status)) this.#states.set(part, { status: to })
  }

  /** Nothing is known of it any more, and what is being loaded comes too late. */
  forget(part: Part) {
    this.#states.delete(part)
    this.#loading.delete(part)
  }

  /** What is being loaded comes too late. */
  stopLoading() {
    this.#loading.clear()
  }

  /** Resolves once the part is not being loaded. */
  async untilIdle(part: Part) {
    await this.#loading.get(part)?.catch(() => {})
  }

  load(part: Part, load: Load): Promise<void> {
    const known = this.#loading.get(part)
    if (known) return known
    const isCurrent = () => this.#loading.get(part) === loading
    const loading: Promise<void> = this.#load(part, { load, isCurrent }).finally(
      () => isCurrent() && this.#loading.delete(part),
    )
    this.#loading.set(part, loading)
    return loading
  }

  async #load(part: Part, { load, isCurrent }: { load: Load; isCurrent: () => boolean }) {
    const { fresh, onLoaded, onFailed, onChange } = this.options
    const journal = this.journal.open()
    this.set(part, { status: this.of(part).status === 'stale' ? 'stale' : 'loading' })
    onChange()
    try {
      const apply = await load()
      if (!isCurrent()) return
      this.set(part, { status: fresh() })
      onLoaded(part, apply, journal.heard())
    } catch (cause) {
      const error = toChatError(cause)
      if (isCurrent()) {
        this.set(part, { status: 'failed', error })
        onFailed(part, error)
      }
      throw error
    } finally {
      journal.close()
      onChange()
    }
  }
}
