import type { ChatError } from '../calls/error.ts'
import { type ClientContext, currentUser, currentUserId } from '../context.ts'
import type { Member, PinnedMessage, UserSummary } from '../generated/types.ts'
import { keepIfEqual, memoize } from '../shared/equality.ts'
import { createStore, type Store, setIfChanged } from '../shared/store.ts'
import { RoomInfoStore } from './info.ts'
import { createJumpLoader, createPageLoader, ROOTS, threadResource, timelineOf } from './loaders.ts'
import { type OptimisticUpdate, withUpdates } from './optimistic.ts'
import { shownPins } from './pins.ts'
import type { LoadStatus, ResourceName } from './resources.ts'
import { selectHasMore, selectMessages } from './selectors.ts'
import type { ChatMessage, ReadPosition } from './state.ts'
import type { ChannelSync } from './sync.ts'
import { type Direction, windowOf } from './timeline.ts'

/** Messages as they are shown, and whether there are more. */
export type MessagesSnapshot = {
  /** Oldest first; unsent ones at the end. */
  items: readonly ChatMessage[]
  /** Whether `loadOlder()` has more. */
  hasOlder: boolean
  /** Whether `loadNewer()` has more: after a jump. */
  hasNewer: boolean
  /** Whether they are loaded and up to date. */
  status: LoadStatus
  /** Why `status` is `failed`. */
  error?: ChatError | undefined
}
/** The replies to a message, and the message itself once it is loaded. */
export type ThreadSnapshot = MessagesSnapshot & {
  /** The message that they reply to. */
  parent: ChatMessage | undefined
}
/** A list and its load state. */
export type ListSnapshot<Item> = {
  /** The items of the list, in order. */
  items: readonly Item[]
  /** Whether it is loaded and up to date. */
  status: LoadStatus
  /** Why `status` is `failed`. */
  error?: ChatError | undefined
}
/** A live list of messages that can be paged both ways. Paging rejects with a ChatError. */
export type PagedStore<Snapshot> = Store<Snapshot> & {
  /** Loads the page before the oldest message; one at a time. */
  loadOlder(): Promise<void>
  /** Loads the page after the newest message that is shown, if there is one. */
  loadNewer(): Promise<void>
}
/** The messages of a channel: paged both ways, from anywhere in it. */
export type MessagesStore = PagedStore<MessagesSnapshot> & {
  /** Shows the messages around this one. */
  jumpTo(messageId: string): Promise<void>
  /** Shows the newest messages again. */
  jumpToLatest(): Promise<void>
}
/** The messages with replies, and by a call with or without. */
export type RoomMessages = MessagesStore & ((filter?: { replies?: boolean }) => MessagesStore)
/** How far each member has read. */
export type ReadsSnapshot = {
  /** Positions by user id. */
  byUser: Readonly<Record<string, ReadPosition>>
  /** Whether they are loaded and up to date. */
  status: LoadStatus
  /** Why `status` is `failed`. */
  error?: ChatError | undefined
}
/** The other users who are typing. `stale` while there is no connection to say so. */
export type TypingSnapshot = ListSnapshot<UserSummary>

type RoomStoresOptions = {
  context: ClientContext
  channelId: string
  sync: ChannelSync
  updates: () => readonly OptimisticUpdate[]
}
type DerivedStore = {
  resource: ResourceName | undefined
  isWatched: () => boolean
  redraw: () => void
  /** Releases what the store showed last. */
  forget: () => void
}

/**
 * The public stores of a channel, computed from its state, the optimistic updates and the outbox.
 */
export class RoomStores {
  readonly info: RoomInfoStore
  readonly messages: RoomMessages
  readonly members: Store<ListSnapshot<Member>>
  readonly reads: Store<ReadsSnapshot>
  readonly typing: Store<TypingSnapshot>
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #stores: DerivedStore[] = []
  readonly #threads = new Map<string, PagedStore<ThreadSnapshot>>()

  constructor(readonly options: RoomStoresOptions) {
    const { context, channelId, sync, updates } = options
    this.info = new RoomInfoStore(channelId, context)
    const all = this.#messages('messages')
    const roots = this.#messages(ROOTS)
    const choose = ({ replies = true }: { replies?: boolean } = {}) => (replies ? all : roots)
    this.messages = Object.assign(choose, all)
    this.members = this.#derive('members', () => ({
      items: sync.state.members ? membersOf(sync.state.members) : NO_ITEMS,
      ...sync.resources.shown('members', sync.state.members),
    }))
    let pins: readonly PinnedMessage[] = NO_ITEMS
    this.pins = this.#derive('pins', () => {
      const { state } = sync
      const me = currentUserId(context)
      pins = keepIfEqual(pins, shownPins(pins, { state, updates: updates(), me }))
      return { items: pins, ...sync.resources.shown('pins', state.pins) }
    })
    this.reads = this.#derive('reads', () => ({
      byUser: sync.state.reads ?? NO_READS,
      ...sync.resources.shown('reads', sync.state.reads),
    }))
    this.typing = this.#derive(undefined, () => ({
      items: sync.state.typing,
      status: sync.topicStatus,
    }))
  }

  thread(parentId: string): PagedStore<ThreadSnapshot> {
    const known = this.#threads.get(parentId)
    if (known) return known
    const thread = this.#timeline(threadResource(parentId), (snapshot) => ({
      ...snapshot,
      parent: this.#message(parentId),
    }))
    this.#threads.set(parentId, thread)
    return thread
  }

  watched(): ResourceName[] {
    return this.#stores.flatMap(({ resource, isWatched }) =>
      resource && isWatched() ? [resource] : [],
    )
  }

  redraw() {
    for (const store of this.#stores) store.redraw()
  }

  /** Stores must not keep in memory what is no longer loaded. */
  forget() {
    for (const store of this.#stores) store.forget()
  }

  #messages(resource: ResourceName): MessagesStore {
    const { context, channelId, sync } = this.options
    const timeline = timelineOf(resource)
    const loaderAt = (messageId: string) =>
      createJumpLoader(context, { channelId, messageId, timeline })
    return {
      ...this.#timeline(resource, (snapshot) => snapshot),
      jumpTo: (messageId) => sync.jumpTo(loaderAt(messageId), resource),
      jumpToLatest: () => sync.jumpToLatest(resource),
    }
  }

  #message(id: string) {
    const { sync, updates } = this.options
    const message = sync.state.messages.get(id)
    const shown = message && withUpdates(message, updates())
    return shown?.deletedAt === null ? shown : message
  }

  #timeline<Snapshot extends MessagesSnapshot>(
    resource: ResourceName,
    complete: (snapshot: MessagesSnapshot) => Snapshot,
  ): PagedStore<Snapshot> {
    const { context, channelId, sync, updates } = this.options
    const timeline = timelineOf(resource)
    const compute = () => {
      const items = selectMessages(sync.state, timeline, {
        updates: updates(),
        queued: context.outbox.entriesOf(channelId),
        waiting: context.outbox.sender.waitingOf(channelId),
        me: currentUser(context),
      })
      return complete({
        items,
        ...selectHasMore(sync.state, timeline),
        // Those among the messages that are there are shown before they are loaded themselves.
        ...sync.resources.shown(resource, windowOf(sync.state, timeline)),
      })
    }
    const loadMore = (direction: Direction) => async () => {
      const { state } = sync
      const { hasOlder, hasNewer } = selectHasMore(state, timeline)
      if (direction === 'older' ? !hasOlder : !hasNewer) return
      const loader = createPageLoader(context, { state, channelId, timeline, direction })
      await sync.resources.load(`${direction}:${resource}`, loader)
    }
    return {
      ...this.#derive(resource, compute),
      loadOlder: loadMore('older'),
      loadNewer: loadMore('newer'),
    }
  }

  /** A store computed from the state. Its resource is loaded once the store is used. */
  #derive<Snapshot extends object>(
    resource: ResourceName | undefined,
    compute: () => Snapshot,
  ): Store<Snapshot> {
    const { context, sync } = this.options
    const load = () => {
      if (resource) sync.resources.loadIfIdle(resource)
    }
    let stopWatching: (() => void) | undefined
    const store = createStore(compute(), {
      onError: context.onError,
      onWatched: () => {
        stopWatching = sync.watch()
        load()
      },
      onUnwatched: () => stopWatching?.(),
    })
    let isOutdated = false
    const recompute = () => {
      isOutdated = false
      setIfChanged(store, compute())
    }
    // Without a listener it is recomputed when it is read.
    const redraw = () => {
      if (store.isWatched) recompute()
      else isOutdated = true
    }
    this.#stores.push({ resource, isWatched: () => store.isWatched, redraw, forget: recompute })
    return {
      subscribe: store.subscribe,
      getSnapshot: () => {
        // Later, because a load changes state, and reading must not.
        if (resource) queueMicrotask(load)
        if (isOutdated) recompute()
        return store.getSnapshot()
      },
    }
  }
}

const membersOf = /* @__PURE__ */ memoize((members: ReadonlyMap<string, Member>) => [
  ...members.values(),
])
const NO_ITEMS: never[] = []
const NO_READS = {}
