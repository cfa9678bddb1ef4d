import type { LiveContext } from '../catch-up.ts'
import { whoAmI } from '../context.ts'
import { ChatError } from '../error.ts'
import type { Store } from '../store.ts'
import type { Attachment, Member, Message, PinnedMessage, UserSummary } from '../types.ts'
import { loadOf } from './loaders.ts'
import { Changes } from './mutations.ts'
import { patches } from './optimistic.ts'
import { type ChatMessage, learn, type TopicEvent } from './reducer.ts'
import { pending } from './selectors.ts'
import {
  type ListSnapshot,
  type MessagesStore,
  type Paged,
  type Reads,
  Stores,
  type ThreadSnapshot,
} from './stores.ts'
import { Feed } from './sync.ts'
import { Signals } from './throttled.ts'

export type {
  ListSnapshot,
  MessagesSnapshot,
  MessagesStore,
  Paged,
  Reads,
  ThreadSnapshot,
} from './stores.ts'

/** What to send. `clientId` names it across retries; one is made up if it is not given. */
export type Draft = {
  text: string
  attachments?: Attachment[] | undefined
  parentId?: string | undefined
  clientId?: string | undefined
}
/** A message that was sent, and what became of it. */
export type OutgoingMessage = {
  clientId: string
  /** As it is shown now: `pending`, `sent` or `failed`. */
  readonly message: ChatMessage
  /** The server's message; rejects with a ChatError when it is refused or discarded. Another promise after `retry()`. */
  readonly sent: Promise<Message>
  /** Sends a failed one again. */
  retry(): void
  /** Takes one that is not sent out of the outbox. */
  discard(): void
}

/** A channel as this user sees it: its live stores, and what can be done in it. The same object for an id each time. */
export class Room {
  /** The newest messages first loaded, then as far as they were paged; with what is still on its way at the end. */
  readonly messages: MessagesStore
  /** Who is in the channel, in which role. */
  readonly members: Store<ListSnapshot<Member>>
  /** How far each member has read. */
  readonly reads: Store<Reads>
  /** Who else types now. */
  readonly typing: Store<readonly UserSummary[]>
  /** Pinned messages, the newest pin first. */
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #context: LiveContext
  readonly #feed: Feed
  readonly #stores: Stores
  readonly #changes: Changes
  readonly #signals: Signals

  /** @internal */
  constructor(
    readonly id: string,
    context: LiveContext,
  ) {
    this.#context = context
    this.#signals = new Signals(context.api, id)
    this.#changes = new Changes({
      onChange: () => this.refresh(),
      isHearing: () => this.#feed.isHearing,
    })
    const watched = () => this.#stores.watched()
    this.#feed = new Feed({
      context,
      channelId: id,
      loadOf: loadOf(context, id),
      watched,
      onChange: () => this.refresh(),
      onHealed: () => this.#changes.heal(),
    })
    this.#stores = new Stores({
      context,
      channelId: id,
      feed: this.#feed,
      patches: () => this.#changes.patches,
    })
    this.messages = this.#stores.messages
    this.members = this.#stores.members
    this.reads = this.#stores.reads
    this.typing = this.#stores.typing
    this.pins = this.#stores.pins
  }

  /** The thread below a message. The same store for a message each time. */
  thread(parentId: string): Paged<ThreadSnapshot> {
    return this.#stores.thread(parentId)
  }

  /** Keeps the stores of this channel live until it is called off. Many may watch. */
  watch(): () => void {
    return this.#feed.watch()
  }

  /** Sends a message: shown at once, stored once, in the order of the calls, also after having been offline. */
  send({
    text,
    attachments = [],
    parentId,
    clientId = crypto.randomUUID(),
  }: Draft): OutgoingMessage {
    const { outbox } = this.#context
    this.#signals.stopTyping()
    const outgoing = {
      clientId,
      channelId: this.id,
      text,
      attachments,
      ...(parentId === undefined ? {} : { parentId }),
    }
    const entry = outbox.get(clientId) ?? outbox.add(outgoing)
    const me = this.#me
    return {
      clientId,
      get message(): ChatMessage {
        return entry.result ? { ...entry.result, status: 'sent' } : pending(entry, me)
      },
      get sent() {
        return entry.sent.promise
      },
      retry: () => outbox.retry(clientId),
      discard: () => outbox.discard(clientId),
    }
  }

  /** Sends a failed message again, by its `clientId`. */
  retry(clientId: string) {
    this.#context.outbox.retry(clientId)
  }

  /** Takes a message that is not sent out of the outbox, by its `clientId`. */
  discard(clientId: string) {
    this.#context.outbox.discard(clientId)
  }

  /** Changes the text of a message of one's own: shown at once, taken back if it is refused. */
  async edit(messageId: string, { text }: { text: string }): Promise<Message> {
    return this.#changes.make(patches.edit(messageId, text), async () => {
      const message = await this.#context.api.messages.edit({ channelId: this.id, messageId, text })
      this.sent(message)
      return message
    })
  }

  /** Deletes a message of one's own, within 15 minutes of sending it. */
  async delete(messageId: string): Promise<void> {
    await this.#changes.make(patches.delete(messageId), () =>
      this.#context.api.messages.delete({ channelId: this.id, messageId }),
    )
  }

  /** Reacts with an emoji; again changes nothing. */
  async react(messageId: string, emoji: string): Promise<void> {
    const ref = { channelId: this.id, messageId, emoji }
    await this.#changes.make(patches.react(messageId, emoji, { isOn: true, me: this.#me }), () =>
      this.#context.api.reactions.add(ref),
    )
  }

  /** Takes one's reaction back. */
  async unreact(messageId: string, emoji: string): Promise<void> {
    const ref = { channelId: this.id, messageId, emoji }
    await this.#changes.make(patches.react(messageId, emoji, { isOn: false, me: this.#me }), () =>
      this.#context.api.reactions.remove(ref),
    )
  }

  /** Pins a message for everybody in the channel; again changes nothing. */
  async pin(messageId: string): Promise<void> {
    await this.#changes.make(patches.pin(messageId, true), () =>
      this.#context.api.pins.pin({ channelId: this.id, messageId }),
    )
  }

  /** Takes a pin off, whoever set it. */
  async unpin(messageId: string): Promise<void> {
    await this.#changes.make(patches.pin(messageId, false), () =>
      this.#context.api.pins.unpin({ channelId: this.id, messageId }),
    )
  }

  /** To be called at each key: tells the others that one types, every few seconds at most, and when it has stopped. */
  keystroke() {
    this.#signals.keystroke()
  }

  /** Marks everything read, or what is up to a message. Calls at a time become one; the position never moves back. */
  markRead(messageId?: string): Promise<void> {
    return this.#signals.markRead(messageId)
  }

  /** @internal */
  hear(event: TopicEvent) {
    this.#changes.hear(event)
    this.#feed.hear(event)
  }
  /** @internal */
  pause() {
    this.#signals.pause()
    this.#feed.pause()
  }
  /** @internal */
  refuse(message: string) {
    this.#feed.refuse(new ChatError(message, { code: 'FORBIDDEN', status: 403 }))
  }
  /** @internal */
  return() {
    this.#feed.return()
  }
  /** @internal */
  rename(user: UserSummary) {
    this.#feed.rename(user)
  }
  /** @internal */
  sent(message: Message) {
    this.#feed.update((state) => learn(state, [message]))
  }
  /** @internal */
  refresh() {
    this.#changes.settle(this.#feed.state)
    this.#stores.refresh()
  }

  get #me(): UserSummary {
    return whoAmI(this.#context) ?? { id: '', name: '', image: null }
  }
}
