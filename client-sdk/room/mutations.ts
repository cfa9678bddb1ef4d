import type { ChannelEvent } from '../events.ts'
import { type OptimisticUpdate, withoutConfirmed } from './optimistic.ts'
import type { ChannelState } from './state.ts'

type PendingMutationsOptions = {
  onChange: () => void
  /** Whether events of the channel arrive. */
  isActive: () => boolean
}

/** The user's changes on their way to the server: shown at once, undone if the call fails. */
export class PendingMutations {
  #updates: readonly OptimisticUpdate[] = []
  /** The last call for each message: changes of one message are sent one after another. */
  readonly #calls = new Map<string, Promise<unknown>>()
  /** How many gaps were filled. */
  #gaps = 0

  constructor(readonly options: PendingMutationsOptions) {}

  get updates() {
    return this.#updates
  }

  /** Shows the update, makes the call, and takes the update back if the call fails. */
  async mutate<T>(update: OptimisticUpdate, call: () => Promise<T>): Promise<T> {
    const { key, messageId } = update
    const gaps = this.#gaps
    this.#updates = [...this.#updates, update]
    this.options.onChange()
    const previous = this.#calls.get(messageId) ?? Promise.resolve()
    const current = previous.then(call, call)
    this.#calls.set(messageId, current)
    try {
      const response = await current
      // Without events, or if they fell into a gap, nothing would ever confirm the update.
      const hasEvents = this.options.isActive() && gaps === this.#gaps
      if (hasEvents && !update.isConfirmedByResponse) this.#markResponded(key)
      else this.#remove(key)
      return response
    } catch (error) {
      this.#remove(key)
      throw error
    } finally {
      if (this.#calls.get(messageId) === current) this.#calls.delete(messageId)
      this.options.onChange()
    }
  }

  handleEvent(event: ChannelEvent) {
    this.#updates = this.#updates.map((update) =>
      !update.wasReflected && update.isReflectedBy(event)
        ? { ...update, wasReflected: true }
        : update,
    )
  }

  /** Drops the updates that the state confirms. */
  dropConfirmed({ messages }: ChannelState) {
    this.#updates = withoutConfirmed(this.#updates, messages)
  }

  /** A fetch that fills a gap includes every change that was answered before. */
  handleGapFilled() {
    this.#gaps += 1
    this.#updates = this.#updates.filter(({ hasResponse }) => !hasResponse)
    this.options.onChange()
  }

  #markResponded(key: object) {
    this.#updates = this.#updates.map((update) =>
      update.key === key ? { ...update, hasResponse: true } : update,
    )
  }

  #remove(key: object) {
    this.#updates = this.#updates.filter((update) => update.key !== key)
  }
}
