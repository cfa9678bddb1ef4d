import type { Engine } from '../engine.ts'
import { ChatError } from '../error.ts'
import { createStore, type Store } from '../store.ts'
import type { Attachment, Member, Message, PinnedMessage, UserSummary } from '../types.ts'
import { Feed, type Part, type Status } from './feed.ts'
import { loadMore, loadOf, stretchOf, threadPart } from './loads.ts'
import { jump } from './pages.ts'
import { type Patch, patches, settle } from './patches.ts'
import { Signals } from './signals.ts'
import { type ChatMessage, learn, type ReadPosition, rename, type TopicEvent } from './state.ts'
import { fold, keep, pending, reach } from './view.ts'

/** Messages as they are shown, and whether there are more. */
export type MessagesSnapshot = { items: readonly ChatMessage[]; hasOlder: boolean; hasNewer: boolean; status: Status; error?: ChatError | undefined }
/** The replies to a message, and the message itself once it is known. */
export type ThreadSnapshot = MessagesSnapshot & { parent: ChatMessage | undefined }
export type ListSnapshot<Item> = { items: readonly Item[]; status: Status; error?: ChatError | undefined }
/** A live list of messages that can be paged both ways. Paging rejects with a ChatError. */
export type Paged<Snapshot> = Store<Snapshot> & { loadOlder(): Promise<void>; loadNewer(): Promise<void> }
export type MessagesStore = Paged<MessagesSnapshot> & {
  /** Shows the messages around this one, wherever it is. */
  jumpTo(messageId: string): Promise<void>
  /** Shows the newest messages again. */
  jumpToLatest(): Promise<void>
}
export type Reads = Readonly<Record<string, ReadPosition>>

/** What to send. `clientId` names it across retries; one is made up if it is not given. */
export type Draft = { text: string; attachments?: Attachment[] | undefined; parentId?: string | undefined; clientId?: string | undefined }
/** A message that was sent, and what became of it. */
export type Sent = {
  clientId: string
  /** As it is shown now: `pending`, `sent` or `failed`. */
  readonly message: ChatMessage
  /** The server's message; rejects with a ChatError when it is refused or discarded. */
  sent: Promise<Message>
  /** Sends a failed one again. */
  retry(): void
  /** Takes one that is not sent out of the outbox. */
  discard(): void
}

const none: never[] = []

/** A channel as this user sees it: its live stores, and what can be done in it. The same object for an id each time. */
export class Channel {
  readonly messages: MessagesStore
  readonly members: Store<ListSnapshot<Member>>
  readonly reads: Store<Reads>
  readonly typing: Store<readonly UserSummary[]>
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #views: { refresh: () => void; part: Part | undefined; isWatched: () => boolean }[] = []
  readonly #threads = new Map<string, Paged<ThreadSnapshot>>()
  readonly #engine: Engine
  readonly #feed: Feed
  readonly #signals: Signals
  #patches: readonly Patch[] = []
  /** Changes of one message are made one after another. */
  readonly #turns = new Map<string, Promise<unknown>>()

  /** @internal */
  constructor(
    readonly id: string,
    engine: Engine,
  ) {
    this.#engine = engine
    this.#signals = new Signals(engine.api, id)
    const watched = () => this.#views.flatMap(({ part, isWatched }) => (part && isWatched() ? [part] : []))
    this.#feed = new Feed({ engine, channelId: id, loadOf: loadOf(engine, id), watched, onChange: () => this.refresh(), onHealed: () => this.#healed() })
    this.messages = {
      ...this.#paged('main', (shown) => shown),
      jumpTo: (messageId) => this.#jumpTo(messageId),
      jumpToLatest: () => this.#feed.load('main', loadOf(engine, id)('main')),
    }
    this.members = this.#view('members', () => ({ items: [...(this.#feed.state.members?.values() ?? none)], ...this.#feed.partOf('members') }))
    this.pins = this.#view('pins', () => ({ items: this.#feed.state.pins ?? none, ...this.#feed.partOf('pins') }))
    this.reads = this.#view('reads', () => this.#feed.state.reads ?? nobody)
    this.typing = this.#view(undefined, () => this.#feed.state.typing)
  }

  /** The thread below a message. The same store for a message each time. */
  thread(parentId: string): Paged<ThreadSnapshot> {
    const known = this.#threads.get(parentId)
    if (known) return known
    const thread = this.#paged(threadPart(parentId), (shown) => ({ ...shown, parent: this.#shownMessage(parentId) }))
    this.#threads.set(parentId, thread)
    return thread
  }

  /** Keeps the stores of this channel live until it is called off. Many may watch. */
  watch(): () => void {
    return this.#feed.watch()
  }

  /** Sends a message: shown at once, stored once, in the order of the calls, also after having been offline. */
  send({ text, attachments = [], parentId, clientId = crypto.randomUUID() }: Draft): Sent {
    const { outbox } = this.#engine
    this.#signals.stopTyping()
    const outgoing = { clientId, channelId: this.id, text, attachments, ...(parentId === undefined ? {} : { parentId }) }
    const entry = outbox.get(clientId) ?? outbox.add(outgoing)
    const me = this.#me
    return {
      clientId,
      get message(): ChatMessage {
        const current = outbox.get(clientId) ?? entry
        return current.result ? { ...current.result, status: 'sent' } : pending(current, me)
      },
      sent: entry.sent.promise,
      retry: () => outbox.retry(clientId),
      discard: () => outbox.discard(clientId),
    }
  }

  /** Sends a failed message again, by its `clientId`. */
  retry(clientId: string) {
    this.#engine.outbox.retry(clientId)
  }

  /** Takes a message that is not sent out of the outbox, by its `clientId`. */
  discard(clientId: string) {
    this.#engine.outbox.discard(clientId)
  }

  /** Changes the text of a message of one's own: shown at once, taken back if it is refused. */
  async edit(messageId: string, { text }: { text: string }): Promise<Message> {
    const call = () => this.#engine.api.messages.edit({ channelId: this.id, messageId, text })
    const patch = patches.edit(messageId, text)
    const message = await this.#change(patch, call)
    this.#patches = this.#patches.filter(({ key }) => key !== patch.key)
    this.sent(message)
    return message
  }

  /** Deletes a message of one's own, within 15 minutes of sending it. */
  async delete(messageId: string): Promise<void> {
    await this.#change(patches.delete(messageId), () => this.#engine.api.messages.delete({ channelId: this.id, messageId }))
  }

  /** Reacts with an emoji; again changes nothing. */
  async react(messageId: string, emoji: string): Promise<void> {
    const ref = { channelId: this.id, messageId, emoji }
    await this.#change(patches.react(messageId, emoji, { isOn: true, me: this.#me }), () => this.#engine.api.reactions.add(ref))
  }

  /** Takes one's reaction back. */
  async unreact(messageId: string, emoji: string): Promise<void> {
    const ref = { channelId: this.id, messageId, emoji }
    await this.#change(patches.react(messageId, emoji, { isOn: false, me: this.#me }), () => this.#engine.api.reactions.remove(ref))
  }

  async pin(messageId: string): Promise<void> {
    await this.#change(patches.pin(messageId, true), () => this.#engine.api.pins.pin({ channelId: this.id, messageId }))
  }

  async unpin(messageId: string): Promise<void> {
    await this.#change(patches.pin(messageId, false), () => this.#engine.api.pins.unpin({ channelId: this.id, messageId }))
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
    this.#patches = this.#patches.map((patch) => (!patch.hasAgreed && patch.isTold(event) ? { ...patch, hasAgreed: true } : patch))
    this.#feed.hear(event)
  }
  /** @internal */
  pause() {
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
    this.#feed.update((state) => rename(state, user))
  }
  /** @internal */
  sent(message: Message) {
    this.#feed.update((state) => learn(state, [message]))
  }
  /** @internal */
  refresh() {
    this.#patches = settle(this.#patches, this.#feed.state.messages)
    for (const view of this.#views) view.refresh()
  }

  /** Changes that were answered before a hole have been overtaken by what filled it. */
  #healed() {
    this.#patches = this.#patches.filter(({ isAnswered }) => !isAnswered)
    this.refresh()
  }

  get #me(): UserSummary {
    const { id = '', name = '', image = null } = this.#engine.session()?.user ?? {}
    return { id, name, image }
  }

  async #change<T>(patch: Patch, call: () => Promise<T>): Promise<T> {
    const { key, messageId } = patch
    this.#patches = [...this.#patches, patch]
    this.refresh()
    const turn = (this.#turns.get(messageId) ?? Promise.resolve()).then(call, call)
    this.#turns.set(messageId, turn)
    try {
      const answer = await turn
      // Where nothing is heard, nothing will ever agree.
      const answered = this.#feed.isHearing ? [{ isAnswered: true }] : []
      this.#patches = this.#patches.flatMap((each) => (each.key === key ? answered.map((more) => ({ ...each, ...more })) : [each]))
      return answer
    } catch (error) {
      this.#patches = this.#patches.filter((each) => each.key !== key)
      throw error
    } finally {
      if (this.#turns.get(messageId) === turn) this.#turns.delete(messageId)
      this.refresh()
    }
  }

  async #jumpTo(messageId: string) {
    const { api } = this.#engine
    const ref = { channelId: this.id, limit: 25 }
    await this.#feed.load('jump', async () => {
      const [older, message, newer] = await Promise.all([
        api.messages.list({ ...ref, before: messageId }),
        api.messages.get({ channelId: this.id, messageId }),
        api.messages.list({ ...ref, after: messageId }),
      ])
      const range = {
        from: older.hasMore ? (older.messages[0] ?? message).seq : 0,
        to: newer.hasMore ? (newer.messages.at(-1) ?? message).seq : Number.POSITIVE_INFINITY,
      }
      return (state) => jump(state, { messages: [...older.messages, message, ...newer.messages], range })
    })
  }

  #shownMessage(id: string) {
    const all = fold(this.#feed.state, {}, { all: this.#patches, entries: none, me: undefined })
    return all.find((message) => message.id === id) ?? this.#feed.state.messages.get(id)
  }

  #paged<Snapshot extends MessagesSnapshot>(part: Part, complete: (shown: MessagesSnapshot) => Snapshot): Paged<Snapshot> {
    const stretch = stretchOf(part)
    const compute = () => {
      const entries = this.#engine.outbox.of(this.id)
      const items = fold(this.#feed.state, stretch, { all: this.#patches, entries, me: this.#engine.session() ? this.#me : undefined })
      return complete({ items, ...reach(this.#feed.state, stretch), ...this.#feed.partOf(part) })
    }
    const more = (side: 'older' | 'newer') => async () => {
      const load = loadMore(this.#engine, { channelId: this.id, part, side })(this.#feed.state)
      if (load) await this.#feed.load(`${side}:${part}`, load)
    }
    return { ...this.#view(part, compute), loadOlder: more('older'), loadNewer: more('newer') }
  }

  /** A store computed from the state; a part that is looked at is loaded. */
  #view<Snapshot extends object>(part: Part | undefined, compute: () => Snapshot): Store<Snapshot> {
    const want = () => {
      if (part) this.#feed.want(part)
    }
    const store = createStore(compute(), want)
    this.#views.push({ part, isWatched: () => store.isWatched, refresh: () => store.set(keepAll(store.getSnapshot(), compute())) })
    return {
      subscribe: store.subscribe,
      getSnapshot: () => {
        // Not now: a snapshot is taken while others are being computed.
        if (part) queueMicrotask(want)
        return store.getSnapshot()
      },
    }
  }
}

const nobody: Reads = {}

/** The new snapshot, or the old one if nothing in it has changed. */
function keepAll<Snapshot extends object>(before: Snapshot, after: Snapshot): Snapshot {
  if ('items' in before && 'items' in after) after = { ...after, items: keep(before.items as unknown[], after.items as unknown[]) } // lists of what is immutable
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof Snapshot>
  return before === after || (!Array.isArray(after) && [...names].every((name) => Object.is(before[name], after[name]))) ? before : after
}
