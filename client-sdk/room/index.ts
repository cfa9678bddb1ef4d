import type { MessageEdit } from '../backing-store/storage.ts'
import { ChatError } from '../calls/error.ts'
import { type ClientContext, currentUser } from '../context.ts'
import type { Message, UserSummary } from '../generated/types.ts'
import type { NewOperation, OutboxStep, Unplaced } from '../outbox/steps.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { newId } from '../shared/platform.ts'
import { createLoaders } from './loaders.ts'
import { PendingMutations } from './mutations.ts'
import { type Draft, type OutgoingMessage, sendThroughOutbox } from './outgoing.ts'
import { applyProfiles, profilesOf } from './profiles.ts'
import { upsertMessages } from './reducer.ts'
import { isAllRead, newestMessage } from './selectors.ts'
import { type PagedStore, RoomStores, type ThreadSnapshot } from './stores.ts'
import { ChannelSync } from './sync.ts'
import { type ReadResult, ThrottledReads, ThrottledTyping } from './throttled.ts'
import { addSent } from './timeline.ts'
import type { Room } from './types.ts'

export type { RoomInfo } from './info.ts'
export type { Draft, OutgoingMessage } from './outgoing.ts'
export type { ChatMessage, ReadPosition } from './state.ts'
export type {
  ListSnapshot,
  MessagesSnapshot,
  MessagesStore,
  PagedStore,
  ReadsSnapshot,
  ThreadSnapshot,
  TypingSnapshot,
} from './stores.ts'
export type { Room } from './types.ts'

/** A room that a client keeps up to date. */
export class LiveRoom implements Room {
  readonly info: Room['info']
  readonly messages: Room['messages']
  readonly members: Room['members']
  readonly reads: Room['reads']
  readonly typing: Room['typing']
  readonly pins: Room['pins']
  readonly #context: ClientContext
  /** Snapshots store and restore it as well. */
  readonly sync: ChannelSync
  readonly #stores: RoomStores
  readonly #mutations: PendingMutations
  readonly #typing: ThrottledTyping
  readonly #reads: ThrottledReads
  #timesRegained = 0
  #lostWith: ChatError | undefined

  constructor(
    readonly id: string,
    context: ClientContext,
  ) {
    this.#context = context
    this.#typing = new ThrottledTyping(context.api, id)
    this.#reads = new ThrottledReads({
      isConnected: () => context.link.isConnected,
      isRead: () => this.#isRead,
      mark: (read) => this.#queue({ type: 'read', ...read }) as Promise<ReadResult>, // its answer
      find: (messageId) =>
        messageId === undefined
          ? newestMessage(this.sync.state, context.records.get(id))
          : this.sync.state.messages.get(messageId),
    })
    this.#mutations = new PendingMutations({
      onChanged: () => this.redraw(),
      isActive: () => this.sync.isActive,
      me: () => this.#me,
    })
    this.sync = new ChannelSync({
      context,
      channelId: id,
      loaderOf: createLoaders(context, id, (messageId) => this.sync.find(messageId)),
      watched: () => this.#stores.watched(),
      onChanged: () => this.redraw(),
      onLeft: () => {
        this.#stores.forget()
        context.onLeft(id)
      },
      onGapFilled: () => this.#mutations.handleGapFilled(),
    })
    this.#stores = new RoomStores({
      context,
      channelId: id,
      sync: this.sync,
      updates: () => this.#mutations.updates,
    })
    this.info = this.#stores.info.store
    this.messages = this.#stores.messages
    this.members = this.#stores.members
    this.reads = this.#stores.reads
    this.typing = this.#stores.typing
    this.pins = this.#stores.pins
    for (const { op } of context.outbox.entriesOf(id)) this.#mutations.show(op)
  }

  get isOpen() {
    return this.sync.isActive || this.#stores.info.isWatched
  }

  thread(parentId: string): PagedStore<ThreadSnapshot> {
    return this.#stores.thread(parentId)
  }

  watch(): () => void {
    return this.sync.watch()
  }

  send(draft: Draft): OutgoingMessage {
    this.#typing.halt()
    return sendThroughOutbox(draft, {
      outbox: this.#context.outbox,
      channelId: this.id,
      me: () => this.#me,
      idOf: this.#idOf,
    })
  }

  retry(clientId: string) {
    this.#context.outbox.retry(clientId)
  }

  discard(clientId: string) {
    this.#context.outbox.withdraw(clientId)
  }

  async edit(messageId: string, { text, custom }: MessageEdit): Promise<Message> {
    const ifEditedAt = this.sync.state.messages.get(this.#idOf(messageId))?.editedAt
    const done = this.#queue({ type: 'edit', messageId, text, custom, ifEditedAt })
    return done as Promise<Message> // the answer of an edit
  }

  async delete(messageId: string): Promise<void> {
    await this.#queue({ type: 'delete', messageId })
  }

  async react(messageId: string, emoji: string): Promise<void> {
    await this.#queue({ type: 'react', messageId, emoji })
  }

  async unreact(messageId: string, emoji: string): Promise<void> {
    await this.#queue({ type: 'unreact', messageId, emoji })
  }

  async pin(messageId: string): Promise<void> {
    await this.#queue({ type: 'pin', messageId })
  }

  async unpin(messageId: string): Promise<void> {
    await this.#queue({ type: 'unpin', messageId })
  }

  keystroke() {
    this.#typing.keystroke()
  }

  async markRead(messageId?: string): Promise<void> {
    const { records } = this.#context
    if (this.#isRead) return
    const { seq } = this.sync.state.messages.get(messageId ?? '') ?? {}
    const isShown = records.startReading(this.id, seq)
    try {
      await this.#reads.mark(messageId)
    } finally {
      if (isShown) records.endReading(this.id)
    }
  }

  handleEvent(event: ChannelEvent) {
    this.#mutations.handleEvent(event)
    this.sync.handleEvent(event)
  }
  handleDisconnect() {
    this.#typing.cancel()
    this.sync.handleDisconnect()
  }
  async handleAccessLost() {
    const [times, { mainWindow }] = [this.#timesRegained, this.sync.state]
    const lost = { code: 'FORBIDDEN', status: 403 } as const
    // Both topics may report it.
    const refusal = this.#lostWith ?? (mainWindow ? undefined : await this.#stores.info.refusal())
    // Access may have been restored meanwhile.
    if (times !== this.#timesRegained) return
    const error = refusal ?? new ChatError('no such channel, or you may not read it', lost)
    this.#lostWith = error
    this.sync.handleAccessLost(error)
    this.#stores.info.handleAccessLost(error)
  }
  handleAccessRegained() {
    this.#timesRegained += 1
    this.#lostWith = undefined
    this.#reads.isRefused = false
    this.sync.handleAccessRegained()
    this.#stores.info.reload()
  }
  refreshInfo() {
    this.#stores.info.redraw()
  }
  /** Forgets what was loaded, unless somebody watches. */
  free() {
    this.sync.free()
    this.#stores.forget()
    this.#context.records.release()
  }
  applyProfile(user: UserSummary) {
    this.sync.apply((state) => applyProfiles(state, profilesOf(user)))
    this.redraw()
  }
  handleSent(message: Message) {
    this.sync.takeResult((state) => addSent(state, message))
  }
  handleStep(step: OutboxStep) {
    const message = this.#mutations.editedBy(step)
    if (message) this.sync.takeResult((state) => upsertMessages(state, [message]))
    this.#mutations.handleStep(step)
  }
  redraw() {
    this.#mutations.dropConfirmed(this.sync.state)
    this.#context.note(this.id)
    this.#stores.redraw()
  }

  /** Applications may have kept the `clientId` of a message that was sent meanwhile. */
  readonly #idOf = (id: string) => this.sync.state.messages.idOf(this.#me.id, id)

  #queue(op: Unplaced<NewOperation>): Promise<unknown> {
    const messageId = 'messageId' in op && op.messageId && this.#idOf(op.messageId)
    const placed = { ...op, ...(messageId && { messageId }), clientId: newId(), channelId: this.id }
    return this.#context.outbox.add(placed).completion.promise
  }

  /** Whether the user surely has nothing unread here, as readers have who are not members. */
  get #isRead() {
    const { state, resources } = this.sync
    const record = this.#context.records.get(this.id)
    const isLoaded = resources.get('messages').status === 'ready'
    const isGuest = record ? record.role === null : this.#reads.isRefused
    return isGuest || (isLoaded && isAllRead(state, { record, me: this.#me.id }))
  }

  get #me(): UserSummary {
    return currentUser(this.#context) ?? { id: '', name: '', image: null }
  }
}
