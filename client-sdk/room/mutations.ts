import { type Patch, settle } from './optimistic.ts'
import type { ChannelState, TopicEvent } from './reducer.ts'

type Options = {
  onChange: () => void
  /** Whether events will tell of what is changed. */
  isHearing: () => boolean
}

/** What the user changes: shown at once, and kept above what the server says until that agrees or the change is refused. */
export class Changes {
  #patches: readonly Patch[] = []
  /** Changes of one message are made one after another. */
  readonly #turns = new Map<string, Promise<unknown>>()
  #holes = 0

  constructor(readonly options: Options) {}

  get patches() {
    return this.#patches
  }

  /** Shows a change, makes it, and takes it back if it is refused. */
  async make<T>(patch: Patch, call: () => Promise<T>): Promise<T> {
    const { key, messageId } = patch
    const holes = this.#holes
    this.#patches = [...this.#patches, patch]
    this.options.onChange()
    const turn = (this.#turns.get(messageId) ?? Promise.resolve()).then(call, call)
    this.#turns.set(messageId, turn)
    try {
      const answer = await turn
      // Where nothing is heard, or what would agree was missed, nothing ever will.
      const isAwaited = this.options.isHearing() && holes === this.#holes && !patch.isToldByAnswer
      if (isAwaited)
        this.#patches = this.#patches.map((each) =>
          each.key === key ? { ...each, isAnswered: true } : each,
        )
      else this.#forget(key)
      return answer
    } catch (error) {
      this.#forget(key)
      throw error
    } finally {
      if (this.#turns.get(messageId) === turn) this.#turns.delete(messageId)
      this.options.onChange()
    }
  }

  hear(event: TopicEvent) {
    this.#patches = this.#patches.map((patch) =>
      !patch.hasAgreed && patch.isTold(event) ? { ...patch, hasAgreed: true } : patch,
    )
  }

  /** Lets go of what these facts agree with. */
  settle({ messages }: ChannelState) {
    this.#patches = settle(this.#patches, messages)
  }

  /** Changes that were answered before a hole have been overtaken by what filled it. */
  heal() {
    this.#holes += 1
    this.#patches = this.#patches.filter(({ isAnswered }) => !isAnswered)
    this.options.onChange()
  }

  #forget(key: Patch['key']) {
    this.#patches = this.#patches.filter((each) => each.key !== key)
  }
}
