import type { OutboxOperation } from '../backing-store/storage.ts'
import type { Message, UserSummary } from '../generated/types.ts'
import type { OutboxStep } from '../outbox/steps.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { type OptimisticUpdate, optimistic, withoutConfirmed } from './optimistic.ts'
import type { ChannelState } from './state.ts'

type PendingMutationsOptions = {
  onChanged: () => void
  /** Whether events of the channel arrive. */
  isActive: () => boolean
  me: () => UserSummary
}

/** The user's changes on their way to the server: shown at once, undone if they are refused. */
export class PendingMutations {
  #updates: readonly OptimisticUpdate[] = []
  /** How many gaps were filled. */
  #gaps = 0
  /** How many there were when a change was sent. */
  readonly #gapsBefore = new Map<unknown, number>()

  constructor(readonly options: PendingMutationsOptions) {}

  get updates() {
    return this.#updates
  }

  /** The message as a completed edit has left it. */
  editedBy({ op, result }: OutboxStep): Message | undefined {
    return op.type === 'edit' ? (result as Message | undefined) : undefined // the answer of an edit
  }

  handleStep({ op, kind, result }: OutboxStep) {
    if (kind === 'queued') this.show(op)
    else if (kind === 'started') this.#gapsBefore.set(op.clientId, this.#gaps)
    // Without a result it was refused, or another operation has its effect.
    else if (result) this.#complete(op.clientId)
    else this.#remove(op.clientId)
  }

  /** Shows an operation of the outbox, which may have changed since it was last shown. */
  show(op: OutboxOperation) {
    const { clientId: key } = op
    const update = updateOf(op, this.options.me())
    if (!update) return
    const next = { ...update, key }
    const isShown = this.#updates.some((each) => each.key === key)
    this.#updates = isShown
      ? this.#updates.map((each) => (each.key === key ? next : each))
      : [...this.#updates, next]
    this.options.onChanged()
  }

  /** Handles that the server has carried it out. */
  #complete(key: string) {
    // Without events, or if they fell into a gap, nothing would ever confirm the update.
    const hasEvents = this.options.isActive() && this.#gapsBefore.get(key) === this.#gaps
    if (!hasEvents) return this.#remove(key)
    this.#updates = this.#updates.map((update) =>
      update.key === key ? { ...update, hasResponse: true } : update,
    )
    this.#gapsBefore.delete(key)
    this.options.onChanged()
  }

  /** Takes the update back. */
  #remove(key: string) {
    this.#updates = this.#updates.filter((update) => update.key !== key)
    this.#gapsBefore.delete(key)
    this.options.onChanged()
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
    this.options.onChanged()
  }
}

function updateOf(op: OutboxOperation, me: UserSummary): OptimisticUpdate | undefined {
  switch (op.type) {
    case 'edit':
      return optimistic.edit(op.messageId, op)
    case 'delete':
      return optimistic.delete(op.messageId)
    case 'pin':
    case 'unpin':
      return optimistic.pin(op.messageId, op.type === 'pin')
    case 'react':
    case 'unreact': {
      const { messageId, emoji, type } = op
      // As the server stores it.
      return optimistic.react(messageId, emoji.normalize('NFC'), { isOn: type === 'react', me })
    }
    default:
      return undefined
  }
}
