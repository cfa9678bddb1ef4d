import { type ClientContext, currentUser } from '../context.ts'
import { keepSnapshotIfEqual } from '../equality.ts'
import type { ChatError } from '../error.ts'
import { createStore, type Store } from '../store.ts'
import type { Member, PinnedMessage, UserSummary } from '../types.ts'
import { createJumpLoader, createPageLoader, threadResource, timelineOf } from './loaders.ts'
import type { OptimisticUpdate } from './optimistic.ts'
import type { ResourceName, Status } from './resources.ts'
import { selectHasMore, selectMessages } from './selectors.ts'
import type { ChatMessage, ReadPosition } from './state.ts'
import type { ChannelSync } from './sync.ts'
import type { Direction } from './timeline.ts'

/** Messages as they are shown, and whether there are more. */
export type MessagesSnapshot = {
  items: readonly ChatMessage[]
  hasOlder: boolean
  hasNewer: boolean
  status: Status
  error?: ChatError | undefined
}
/** The replies to a message, and the message itself once it is loaded. */
export type ThreadSnapshot = MessagesSnapshot & { parent: ChatMessage | undefined }
/** A list and its load state. */
export type ListSnapshot<Item> = {
  items: readonly Item[]
  status: Status
  error?: ChatError | undefined
}
/** A live list of messages that can be paged both ways. Paging rejects with a ChatError. */
export type Paged<Snapshot> = Store<Snapshot> & {
  loadOlder(): Promise<void>
  loadNewer(): Promise<void>
}
/** The messages of a channel: paged both ways, from anywhere in it. */
export type MessagesStore = Paged<MessagesSnapshot> & {
  /** Shows the messages around this one. */
  jumpTo(messageId: string): Promise<void>
  /** Shows the newest messages again. */
  jumpToLatest(): Promise<void>
}
/** How far each member has read, by user id. */
export type Reads = Readonly<Record<string, ReadPosition>>

type RoomStoresOptions = {
  context: ClientContext
  channelId: string
  sync: ChannelSync
  updates: () => readonly OptimisticUpdate[]
}
type DerivedStore = {
  resource: ResourceName | undefined
  isWatched: () => boolean
  refresh: () => void
}

/**
 * The public stores of a channel, computed from its state, the optimistic updates and the outbox.
 */
export class RoomStores {
  readonly messages: MessagesStore
  readonly members: Store<ListSnapshot<Member>>
  readonly reads: Store<Reads>
  readonly typing: Store<readonly UserSummary[]>
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #stores: DerivedStore[] = []
  readonly #threads = new Map<string, Paged<ThreadSnapshot>>()

  constructor(readonly options: RoomStoresOptions) {
    const { context, channelId, sync } = options
    this.messages = {
      ...this.#timeline('messages', (snapshot) => snapshot),
      jumpTo: (messageId) => sync.jumpTo(createJumpLoader(context, { channelId, messageId })),
      jumpToLatest: () => sync.jumpToLatest(),
    }
    this.members = this.#derive('members', () => ({
      items: [...(sync.state.members?.values() ?? NO_ITEMS)],
      ...sync.resources.get('members'),
    }))
    this.pins = this.#derive('pins', () => ({
      items: sync.state.pins ?? NO_ITEMS,
      ...sync.resources.get('pins'),
    }))
    this.reads = this.#derive('reads', () => sync.state.reads ?? NO_READS)
    this.typing = this.#derive(undefined, () => sync.state.typing)
  }

  thread(parentId: string): Paged<ThreadSnapshot> {
    const known = this.#threads.get(parentId)
    if (known) return known
    const thread = this.#timeline(threadResource(parentId), (snapshot) => ({
      ...snapshot,
      parent: this.#message(parentId),
    }))
    this.#threads.set(parentId, thread)
    return thread
  }

  /** The resources that something watches. */
  watched(): ResourceName[] {
    return this.#stores.flatMap(({ resource, isWatched }) =>
      resource && isWatched() ? [resource] : [],
    )
  }

  refresh() {
    for (const store of this.#stores) store.refresh()
  }

  #message(id: string) {
    const { sync, updates } = this.options
    const local = { updates: updates(), entries: NO_ITEMS, me: undefined }
    const messages = selectMessages(sync.state, {}, local)
    return messages.find((message) => message.id === id) ?? sync.state.messages.get(id)
  }

  #timeline<Snapshot extends MessagesSnapshot>(
    resource: ResourceName,
    complete: (snapshot: MessagesSnapshot) => Snapshot,
  ): Paged<Snapshot> {
    const { context, channelId, sync, updates } = this.options
    const timeline = timelineOf(resource)
    const compute = () => {
      const items = selectMessages(sync.state, timeline, {
        updates: updates(),
        entries: context.outbox.entriesOf(channelId),
        me: currentUser(context),
      })
      const hasMore = selectHasMore(sync.state, timeline)
      return complete({ items, ...hasMore, ...sync.resources.get(resource) })
    }
    const loadMore = (direction: Direction) => async () => {
      const loader = createPageLoader(context, { channelId, timeline, direction })(sync.state)
      if (loader) await sync.resources.load(`${direction}:${resource}`, loader)
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
    const store = createStore(compute(), { onError: context.onError, onWatched: load })
    let isOutdated = false
    const recompute = () => {
      isOutdated = false
      store.set(keepSnapshotIfEqual(store.getSnapshot(), compute()))
    }
    // Without a listener it is recomputed when it is read.
    const refresh = () => {
      if (store.isWatched) recompute()
      else isOutdated = true
    }
    this.#stores.push({ resource, isWatched: () => store.isWatched, refresh })
    return {
      subscribe: store.subscribe,
      getSnapshot: () => {
        // Not at once: a load changes state, and reading must not.
        if (resource) queueMicrotask(load)
        if (isOutdated) recompute()
        return store.getSnapshot()
      },
    }
  }
}

const NO_ITEMS: never[] = []
const NO_READS: Reads = {}
