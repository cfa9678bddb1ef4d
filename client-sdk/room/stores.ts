import type { LiveContext } from '../catch-up.ts'
import { whoAmI } from '../context.ts'
import type { ChatError } from '../error.ts'
import { createStore, type Store } from '../store.ts'
import type { Member, PinnedMessage, UserSummary } from '../types.ts'
import { jumpTo, loadMore, loadOf, stretchOf, threadPart } from './loaders.ts'
import type { Patch } from './optimistic.ts'
import type { ChatMessage, ReadPosition } from './reducer.ts'
import type { Part, Status } from './resources.ts'
import { fold, keep, reach } from './selectors.ts'
import type { Feed } from './sync.ts'

/** Messages as they are shown, and whether there are more. */
export type MessagesSnapshot = {
  items: readonly ChatMessage[]
  hasOlder: boolean
  hasNewer: boolean
  status: Status
  error?: ChatError | undefined
}
/** The replies to a message, and the message itself once it is known. */
export type ThreadSnapshot = MessagesSnapshot & { parent: ChatMessage | undefined }
/** A list, and whether it is true now. */
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
/** The messages of a channel: paged, and shown from anywhere in it. */
export type MessagesStore = Paged<MessagesSnapshot> & {
  /** Shows the messages around this one, wherever it is. */
  jumpTo(messageId: string): Promise<void>
  /** Shows the newest messages again. */
  jumpToLatest(): Promise<void>
}
/** How far each member has read, by user id. */
export type Reads = Readonly<Record<string, ReadPosition>>

type Options = {
  context: LiveContext
  channelId: string
  feed: Feed
  patches: () => readonly Patch[]
}
type View = { part: Part | undefined; isWatched: () => boolean; refresh: () => void }

/** The stores of a channel: what is known of it, and what the user has changed, as it is shown. */
export class Stores {
  readonly messages: MessagesStore
  readonly members: Store<ListSnapshot<Member>>
  readonly reads: Store<Reads>
  readonly typing: Store<readonly UserSummary[]>
  readonly pins: Store<ListSnapshot<PinnedMessage>>
  readonly #views: View[] = []
  readonly #threads = new Map<string, Paged<ThreadSnapshot>>()

  constructor(readonly options: Options) {
    const { context, channelId, feed } = options
    this.messages = {
      ...this.#paged('main', (shown) => shown),
      jumpTo: (messageId) => feed.load('jump', jumpTo(context, { channelId, messageId })),
      jumpToLatest: () => feed.load('main', loadOf(context, channelId)('main')),
    }
    this.members = this.#view('members', () => ({
      items: [...(feed.state.members?.values() ?? none)],
      ...feed.partOf('members'),
    }))
    this.pins = this.#view('pins', () => ({
      items: feed.state.pins ?? none,
      ...feed.partOf('pins'),
    }))
    this.reads = this.#view('reads', () => feed.state.reads ?? nobody)
    this.typing = this.#view(undefined, () => feed.state.typing)
  }

  thread(parentId: string): Paged<ThreadSnapshot> {
    const known = this.#threads.get(parentId)
    if (known) return known
    const thread = this.#paged(threadPart(parentId), (shown) => ({
      ...shown,
      parent: this.#message(parentId),
    }))
    this.#threads.set(parentId, thread)
    return thread
  }

  /** The parts that somebody looks at. */
  watched(): Part[] {
    return this.#views.flatMap(({ part, isWatched }) => (part && isWatched() ? [part] : []))
  }

  refresh() {
    for (const view of this.#views) view.refresh()
  }

  #message(id: string) {
    const { feed, patches } = this.options
    const all = fold(feed.state, {}, { all: patches(), entries: none, me: undefined })
    return all.find((message) => message.id === id) ?? feed.state.messages.get(id)
  }

  #paged<Snapshot extends MessagesSnapshot>(
    part: Part,
    complete: (shown: MessagesSnapshot) => Snapshot,
  ): Paged<Snapshot> {
    const { context, channelId, feed, patches } = this.options
    const stretch = stretchOf(part)
    const compute = () => {
      const items = fold(feed.state, stretch, {
        all: patches(),
        entries: context.outbox.of(channelId),
        me: whoAmI(context),
      })
      return complete({ items, ...reach(feed.state, stretch), ...feed.partOf(part) })
    }
    const more = (side: 'older' | 'newer') => async () => {
      const load = loadMore(context, { channelId, part, side })(feed.state)
      if (load) await feed.load(`${side}:${part}`, load)
    }
    return { ...this.#view(part, compute), loadOlder: more('older'), loadNewer: more('newer') }
  }

  /** A store computed from the state; a part that is looked at is loaded. */
  #view<Snapshot extends object>(part: Part | undefined, compute: () => Snapshot): Store<Snapshot> {
    const want = () => {
      if (part) this.options.feed.want(part)
    }
    const store = createStore(compute(), { report: this.options.context.report, onWatched: want })
    let isOld = false
    const renew = () => {
      isOld = false
      store.set(keepAll(store.getSnapshot(), compute()))
    }
    // What nobody watches is computed when somebody asks.
    const refresh = () => {
      if (store.isWatched) renew()
      else isOld = true
    }
    this.#views.push({ part, isWatched: () => store.isWatched, refresh })
    return {
      subscribe: store.subscribe,
      getSnapshot: () => {
        // Not now: a snapshot is taken while others are being computed.
        if (part) queueMicrotask(want)
        if (isOld) renew()
        return store.getSnapshot()
      },
    }
  }
}

const none: never[] = []
const nobody: Reads = {}

/** The new snapshot, or the old one if nothing in it has changed. */
function keepAll<Snapshot extends object>(before: Snapshot, after: Snapshot): Snapshot {
  if ('items' in before && 'items' in after)
    after = { ...after, items: keep(before.items as unknown[], after.items as unknown[]) } // lists of what is immutable
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof Snapshot>
  return before === after ||
    (!Array.isArray(after) && [...names].every((name) => Object.is(before[name], after[name])))
    ? before
    : after
}
