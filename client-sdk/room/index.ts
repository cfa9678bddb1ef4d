import { type ClientContext, currentUser } from '../context.ts'
import { ChatError } from '../error.ts'
import type { ChannelEvent } from '../events.ts'
import type { NewOperation, OutboxStep, Unplaced } from '../outbox/steps.ts'
import { newId } from '../platform.ts'
import type { RoomSnapshot } from '../snapshot-source.ts'
import type { Store } from '../store.ts'
import type { Member, Message, PinnedMessage, UserSummary } from '../types.ts'
import { createLoaders } from './loaders.ts'
import { PendingMutations } from './mutations.ts'
import { type Draft, type OutgoingMessage, sendThroughOutbox } from './outgoing.ts'
import { applyProfiles, profilesOf } from './profiles.ts'
import { upsertMessages } from './reducer.ts'
import { isAllRead, newestMessageId } from './selectors.ts'
import {
  type ListSnapshot,
  type MessagesStore,
  type Paged,
  type Reads,
  RoomStores,
  type ThreadSnapshot,
} from './stores.ts'
import { ChannelSync } from './sync.ts'
import { type ReadResult, ThrottledReads, ThrottledTyping } from './throttled.ts'
import { addSent } from './timeline.ts'

export type { Draft, OutgoingMessage } from './outgoing.ts'
export type { ChatMessage, ReadPosition } from './state.ts'
export type {
  ListSnapshot,
  MessagesSnapshot,
  MessagesStore,
  Paged,
  Reads,
  ThreadSnapshot,
} from './stores.ts'

/** A channel as this user sees it: live stores, and what the user can do in it. */
export class Room {
  /** The newest messages and those loaded by paging, with unsent messages at the end. */
  readonly messages: MessagesStore
  /** The members and their roles. */
  readonly members: Store<ListSnapshot<Member>>
  /** How far each member has read. */
  readonly reads: Store<Reads>
  /** The other users who are typing. */
  readonly typing: Store<readonly UserSummary[]>
  /** Pinned messages, the newest pin first. */
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #context: ClientContext
  readonly #sync: ChannelSync
  readonly #stores: RoomStores
  readonly #mutations: PendingMutations
  readonly #typing: ThrottledTyping
  readonly #reads: ThrottledReads

  /** @internal */
  constructor(
    readonly id: string,
    context: ClientContext,
  ) {
    this.#context = context
    this.#typing = new ThrottledTyping(context.api, id)
    this.#reads = new ThrottledReads({
      isConnected: () =>
        ['live', 'catching-up'].includes(context.connection.state.getSnapshot().status),
      mark: (read) => this.#queue({ type: 'read', ...read }) as Promise<ReadResult>, // its answer
      newestId: () => newestMessageId(this.#sync.state, context.records.get(id)),
    })
    this.#mutations = new PendingMutations({
      onChange: () => this.refresh(),
      isActive: () => this.#sync.isActive,
      me: () => this.#me,
    })
    this.#sync = new ChannelSync({
      context,
      channelId: id,
      loaderOf: createLoaders(context, id),
      watched: () => this.#stores.watched(),
      onChange: () => this.refresh(),
      onGapFilled: () => this.#mutations.handleGapFilled(),
    })
    this.#stores = new RoomStores({
      context,
      channelId: id,
      sync: this.#sync,
      updates: () => this.#mutations.updates,
    })
    this.messages = this.#stores.messages
    this.members = this.#stores.members
    this.reads = this.#stores.reads
    this.typing = this.#stores.typing
    this.pins = this.#stores.pins
    for (const { operation } of context.outbox.entriesOf(id)) this.#mutations.show(operation)
  }

  /** The thread below a message. Each call with the same id returns the same store. */
  thread(parentId: string): Paged<ThreadSnapshot> {
    return this.#stores.thread(parentId)
  }

  /** Keeps the stores of this channel live until the returned function is called. Ref-counted. */
  watch(): () => void {
    return this.#sync.watch()
  }

  /** Sends a message: shown at once, stored exactly once, in order, even across an outage. */
  send(draft: Draft): OutgoingMessage {
    this.#typing.stop()
    const { outbox } = this.#context
    return sendThroughOutbox(draft, { outbox, channelId: this.id, me: this.#me })
  }

  /** Sends a failed message again, by its `clientId`. */
  retry(clientId: string) {
    this.#context.outbox.retry(clientId)
  }

  /** Removes an unsent message from the outbox, by its `clientId`. */
  discard(clientId: string) {
    this.#context.outbox.discard(clientId)
  }

  /**
   * Changes the text of the user's own message. Like all changes it is shown at once, waits in the
   * outbox while there is no network, and is undone if the server refuses it; the promise resolves
   * once the server has it. CONFLICT if the text was edited elsewhere meanwhile.
   */
  async edit(messageId: string, { text }: { text: string }): Promise<Message> {
    const ifEditedAt = this.#sync.state.messages.get(messageId)?.editedAt
    const done = this.#queue({ type: 'edit', messageId, text, ifEditedAt })
    return done as Promise<Message> // the answer of an edit
  }

  /**
   * Deletes the user's own message, up to 15 minutes after it was sent; one that is unsent, by its
   * `clientId`, is not sent at all if it was never tried.
   */
  async delete(messageId: string): Promise<void> {
    await this.#queue({ type: 'delete', messageId })
  }

  /** Adds a reaction. Idempotent. */
  async react(messageId: string, emoji: string): Promise<void> {
    await this.#queue({ type: 'react', messageId, emoji })
  }

  /** Removes the user's reaction. Idempotent. */
  async unreact(messageId: string, emoji: string): Promise<void> {
    await this.#queue({ type: 'unreact', messageId, emoji })
  }

  /** Pins a message for everyone in the channel. Idempotent. */
  async pin(messageId: string): Promise<void> {
    await this.#queue({ type: 'pin', messageId })
  }

  /** Removes a pin, whoever set it. Idempotent. */
  async unpin(messageId: string): Promise<void> {
    await this.#queue({ type: 'unpin', messageId })
  }

  /** Call it on each key press: shows the others that the user is typing. Throttled. */
  keystroke() {
    this.#typing.keystroke()
  }

  /**
   * Marks everything as read, or everything up to a message: shown at once, undone if the server
   * refuses it. Throttled; never moves back. Where nothing is unread it makes no call.
   */
  async markRead(messageId?: string): Promise<void> {
    const { records } = this.#context
    if (this.#isRead) return
    records.startReading(this.id)
    try {
      await this.#reads.mark(messageId)
    } finally {
      records.endReading(this.id)
    }
  }

  /** @internal */
  handleEvent(event: ChannelEvent) {
    this.#mutations.handleEvent(event)
    this.#sync.handleEvent(event)
  }
  /** @internal */
  handleDisconnect() {
    this.#typing.cancel()
    this.#sync.handleDisconnect()
  }
  /** @internal */
  handleAccessLost() {
    const error = { code: 'FORBIDDEN', status: 403 } as const
    this.#sync.handleAccessLost(new ChatError('you may not read this channel any more', error))
  }
  /** @internal */
  handleAccessRegained() {
    this.#sync.handleAccessRegained()
  }
  /** @internal */
  applyProfile(user: UserSummary) {
    this.#sync.apply((state) => applyProfiles(state, profilesOf(user)))
  }
  /** @internal */
  handleSent(message: Message) {
    this.#sync.apply((state) => addSent(state, message))
  }
  /** @internal */
  restore(snapshot: RoomSnapshot) {
    this.#sync.restore(snapshot)
  }
  /** @internal */
  snapshot() {
    return this.#sync.snapshot()
  }
  /** @internal */
  handleStep(step: OutboxStep) {
    const message = this.#mutations.editedBy(step)
    if (message) this.#sync.update((state) => upsertMessages(state, [message]))
    this.#mutations.handleStep(step)
  }
  /** @internal */
  refresh() {
    this.#mutations.dropConfirmed(this.#sync.state)
    this.#context.note(this.id)
    this.#stores.refresh()
  }

  #queue(operation: Unplaced<NewOperation>): Promise<unknown> {
    const placed = { ...operation, clientId: newId(), channelId: this.id }
    return this.#context.outbox.add(placed).done.promise
  }

  /** Whether the user surely has nothing unread here. */
  get #isRead() {
    const { state, resources } = this.#sync
    const record = this.#context.records.get(this.id)
    const isLoaded = resources.get('messages').status === 'ready'
    return isLoaded && isAllRead(state, { record, me: this.#me.id })
  }

  get #me(): UserSummary {
    return currentUser(this.#context) ?? { id: '', name: '', image: null }
  }
}
