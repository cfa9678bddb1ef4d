import type { ChatError } from '../calls/error.ts'
import { type ClientContext, currentUserId } from '../context.ts'
import { MAX_CHANGES } from '../generated/limits.ts'
import type { ChannelChanges, UserSummary } from '../generated/types.ts'
import type { TopicPosition } from '../realtime/connection.ts'
import type { ChannelEvent } from '../realtime/events.ts'
import { spread } from '../shared/timing.ts'
import { timelineOf } from './loaders.ts'
import { applyProfiles, profilesOf } from './profiles.ts'
import { applyEvent, upsertMessages } from './reducer.ts'
import {
  type Loaded,
  type Loader,
  type LoadStatus,
  type ResourceName,
  Resources,
} from './resources.ts'
import { type ChannelState, emptyState } from './state.ts'
import {
  dropShownSent,
  loadedWindowOf,
  newestPage,
  PAGE_SIZE,
  trimWindow,
  windowSize,
  withWindow,
} from './timeline.ts'
import { TypingExpiry } from './typing-expiry.ts'
import { Watchers } from './watchers.ts'

type ChannelSyncOptions = {
  context: ClientContext
  channelId: string
  loaderOf: (name: ResourceName) => Loader
  /** The resources that something watches. */
  watched: () => ResourceName[]
  onChanged: () => void
  /** Called when nobody watches, and only the newest page is left. */
  onLeft: () => void
  /** Called when the state was fetched across a gap in the events. */
  onGapFilled: () => void
}

/** How many messages the window may grow by after the user last paged. */
const MAX_LIVE_MESSAGES = 1_000

/**
 * Keeps a channel's state in sync with the server: subscribes, then loads, and applies the events
 * that arrived during the load to its result; by their revs none counts twice. After a gap it
 * fetches what changed.
 */
export class ChannelSync {
  state: ChannelState = emptyState
  readonly resources: Resources
  readonly #watchers = new Watchers({
    onWatched: () => this.#subscribe(),
    onLeft: () => this.#leave(),
  })
  #unsubscribe: (() => void) | undefined
  #position: TopicPosition | undefined
  /** Whether the server has confirmed the subscription, and the connection is there. */
  #isSubscribed = false
  /** The rev after which changes are missing, and requested. -Infinity: all is reloaded. */
  #gap: { since: number } | undefined
  /** The size of the window above which the oldest messages are dropped. */
  #windowLimit = MAX_LIVE_MESSAGES
  /** The resources in which the user jumped away from the newest messages. */
  #jumped = new Map<ResourceName, Loader>()
  readonly #typing = new TypingExpiry((stop) => this.handleEvent(stop))

  constructor(readonly options: ChannelSyncOptions) {
    const { loaderOf, watched, onChanged } = options
    this.resources = new Resources({
      loaderOf,
      watched,
      canLoad: () => this.#isSubscribed,
      loadedStatus: () => (this.#isSubscribed || !this.isActive ? 'ready' : 'stale'),
      onLoaded: (name, loaded) => this.#handleLoaded(name, loaded),
      onChanged,
    })
  }

  readonly watch = () => this.#watchers.add()

  /** Whether the channel is subscribed, or will be once the connection is back. */
  get isActive() {
    return this.#unsubscribe !== undefined
  }

  /** Moves the window to other messages. The latest request counts, whichever is answered last. */
  jumpTo(loader: Loader, resource: ResourceName): Promise<void> {
    const jump = `jump:${resource}`
    this.#jumped.set(resource, loader)
    this.resources.invalidate([jump])
    return this.resources.load(jump, loader)
  }

  /** Moves the window back to the newest messages. If that fails, those that are loaded stay. */
  jumpToLatest(resource: ResourceName): Promise<void> {
    const jump = `jump:${resource}`
    this.#jumped.delete(resource)
    this.resources.invalidate([jump])
    const isLoaded = ['ready', 'stale'].includes(this.resources.get(resource).status)
    return this.resources.load(isLoaded ? jump : resource, this.options.loaderOf(resource))
  }

  /** Whether events of the channel arrive. */
  get topicStatus(): LoadStatus {
    if (this.#isSubscribed) return 'ready'
    return this.isActive ? this.resources.get('messages').status : 'idle'
  }

  handleEvent(event: ChannelEvent) {
    if (!this.#unsubscribe) return
    const apply = (state: ChannelState) => applyEvent(state, event, this.#me)
    if (event.type === 'typing.start' || event.type === 'typing.stop') this.#typing.note(event)
    else this.resources.buffer.add(apply)
    if (event.rev !== undefined && this.#position)
      this.#position = { ...this.#position, offset: event.rev }
    this.update((state) => trimWindow(apply(state), this.#windowLimit))
  }

  /** Shows what was stored, as stale, unless something has loaded. */
  restore(stored: Partial<ChannelState>, position: TopicPosition) {
    if (this.state.mainWindow || this.#isSubscribed) return
    this.state = { ...this.state, ...stored }
    this.#position = position
    this.resources.set('messages', { status: 'stale' })
    this.options.onChanged()
  }

  /** The position at which the messages are up to date; undefined while they are not. */
  get currentAt(): TopicPosition | undefined {
    const isReady = this.resources.get('messages').status === 'ready' && this.#isSubscribed
    return isReady ? this.#position : undefined
  }

  /** Applies a change now, and to the results of running loads, which may be older. */
  apply(change: (state: ChannelState) => ChannelState) {
    this.resources.buffer.add(change)
    this.update(change)
  }

  /** A loaded message, unless its changes may be missing. */
  readonly find = (messageId: string) =>
    this.#gap ? undefined : this.state.messages.get(messageId)

  /** Applies the answer to a call. A room that nobody watches keeps about as much as one left. */
  takeResult(change: (state: ChannelState) => ChannelState) {
    if (this.isActive) return this.apply(change)
    this.apply((state) => trimWindow(change(state), 2 * PAGE_SIZE))
    this.options.context.onLeft(this.options.channelId)
  }

  update(change: (state: ChannelState) => ChannelState) {
    const next = dropShownSent(change(this.state))
    if (next === this.state) return
    this.state = next
    if (next.arePinsStale) this.#reloadPins()
    this.options.onChanged()
  }

  /** The connection was lost: the state may miss changes. */
  handleDisconnect() {
    this.#isSubscribed = false
    this.resources.endRetries()
    this.resources.transition('ready', 'stale')
    this.#typing.clear()
    if (this.state.typing.length > 0) this.state = { ...this.state, typing: [] }
    this.options.onChanged()
  }

  /** Handles that the user may not, or no longer, read the channel: drops everything. */
  handleAccessLost(error: ChatError) {
    this.resources.abandonLoads()
    this.#stop()
    this.#isSubscribed = false
    this.#position = undefined
    this.state = emptyState
    for (const name of ['messages', ...this.resources.names])
      this.resources.set(name, { status: 'failed', error })
    this.options.onChanged()
  }

  handleAccessRegained() {
    if (this.#watchers.count > 0) this.#subscribe()
  }

  #subscribe() {
    if (this.#unsubscribe) return
    const { context, channelId } = this.options
    // First: a topic that a list keeps open confirms the subscription at once.
    this.resources.set('messages', { status: this.state.mainWindow ? 'stale' : 'loading' })
    this.#unsubscribe = context.topics.subscribe(
      channelId,
      (context) => this.#handleSubscribed(context),
      this.#position,
    )
    this.options.onChanged()
  }

  #stop() {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  /** A room that nobody watches keeps only its newest page. */
  #leave() {
    this.#stop()
    this.#jumped.clear()
    this.state = newestPage(this.state)
    const kept = ['messages', 'reads', 'members', 'pins']
    this.resources.invalidate(this.resources.names.filter((name) => !kept.includes(name)))
    if (!this.state.mainWindow) this.#position = undefined
    this.handleDisconnect()
    this.options.onLeft()
  }

  /** Forgets everything, unless somebody watches. */
  free() {
    if (this.#unsubscribe) return
    this.resources.invalidate(this.resources.names)
    this.state = emptyState
    this.#position = undefined
    this.options.onChanged()
  }

  #handleSubscribed({ isRecovered, position }: { isRecovered: boolean; position: TopicPosition }) {
    const before = this.#position
    this.#isSubscribed = true
    this.#position = position
    const { offset } = position
    // The revs of another epoch mean nothing in this one.
    if (before && before.epoch !== position.epoch) return this.#startOver(offset)
    // Messages that were known before the first subscription, as by a jump, have no known rev.
    if (!before && this.state.messages.size > 0) return this.#startOver(offset, this.#jumped)
    if (!this.state.mainWindow) {
      this.state = { ...this.state, rev: offset }
      return this.#markReady(['messages', 'reads', 'members', 'pins'])
    }
    // Reads and profiles come in ephemeral events, which are never recovered.
    if (isRecovered && !this.#gap) return this.#markReady(['reads', 'members'])
    const since = this.#gap?.since ?? this.state.rev
    // Beyond, the server says to start over.
    if (offset - since > MAX_CHANGES) return this.#startOver(offset)
    this.#requestChanges(since)
    this.#reload(['reads', 'members', 'pins'])
  }

  #handleLoaded(name: ResourceName, { apply, changes }: Loaded) {
    const loaded = apply(this.state)
    // Nothing was known, or nothing is left of it: nothing in it is missing.
    if (!this.state.mainWindow) this.#gap = undefined
    const timeline = timelineOf(name)
    const jumpedTo = this.#jumped.has(name) && loadedWindowOf(this.state, timeline)
    const shown = jumpedTo ? withWindow(loaded, timeline, jumpedTo) : loaded
    this.state = dropShownSent(changes.reduce((state, change) => change(state), shown))
    this.#windowLimit = windowSize(this.state) + MAX_LIVE_MESSAGES
    if (name === 'messages') this.options.onGapFilled()
    if (this.state.arePinsStale) this.#reloadPins()
  }

  #requestChanges(since: number) {
    const { context, channelId } = this.options
    const { profiles } = context.records
    const { now } = profiles
    const gap = { since }
    this.#gap = gap
    context.catchUp.request(channelId, {
      since,
      // Only the latest request fills the gap: those before may have been answered too early.
      apply: (changes) => gap === this.#gap && this.#fillGap(changes, profiles.after(now)),
    })
  }

  /** Fills a gap with the changes, or reloads everything if there are too many. */
  #fillGap(changes: ChannelChanges, newer: UserSummary[]): true | undefined {
    if (!this.#unsubscribe) return
    this.#gap = undefined
    const { rev = this.#position?.offset ?? 0, messages = [] } = changes
    // Older servers answer readers who are no members without a record.
    if (changes.resync || !changes.channel) return this.#startOver(rev)
    this.apply((state) => {
      const next = applyProfiles(upsertMessages(state, messages), profilesOf(...newer))
      return { ...next, rev: Math.max(state.rev, rev) }
    })
    if (changes.more) this.#requestChanges(rev)
    else this.#markReady([])
    this.options.onGapFilled()
    return true
  }

  /** Reloads everything, by one call, and repeats the jumps; until then the old state is stale. */
  #startOver(rev: number, jumped = new Map<ResourceName, Loader>()): undefined {
    const { resources } = this
    const { context, channelId, loaderOf } = this.options
    // Until it is replaced, nothing fills the gaps of the old state.
    this.#gap = { since: Number.NEGATIVE_INFINITY }
    resources.abandonLoads()
    this.#jumped = jumped
    resources.set('messages', { status: 'stale' })
    const load = loaderOf('messages')
    const repeat = (jump: Loader) => jump().catch(() => (state: ChannelState) => state)
    const replaceState = async () => {
      const applies = await Promise.all([load(), ...Array.from(jumped.values(), repeat)])
      return () => {
        // Later jumps are put into this state, not into the one before.
        this.state = { ...emptyState, rev }
        return applies.reduce((state, apply) => apply(state), this.state)
      }
    }
    // The others are put into the state that replaces this one.
    const replaced = resources
      .load('messages', replaceState)
      .catch(() => this.update(() => ({ ...emptyState, rev })))
    resources.replaced = replaced
    this.#reload(resources.names.filter((name) => name !== 'messages'))
    // Not a later one, which may wait for the call after this one.
    context.catchUp.request(channelId, { since: null, apply: () => replaced.then(() => true) })
  }

  /** Marks all as up to date but these and those that failed, which are loaded when watched. */
  #markReady(outdated: ResourceName[]) {
    const { resources } = this
    const failed = resources.names.filter((name) => resources.get(name).status === 'failed')
    resources.transition('stale', 'ready')
    resources.invalidate(failed)
    this.#reload(outdated)
    this.options.onChanged()
  }

  /** Loads these resources again, at once or when they are watched. */
  #reload(names: ResourceName[]) {
    this.resources.invalidate(names)
    this.resources.loadWatched(names)
  }

  /** Watched pins are loaded again, by rooms and clients at different times. */
  #reloadPins() {
    this.update((state) => ({ ...state, arePinsStale: false }))
    // The change that made them stale is applied to pins that are loading, too.
    if (this.resources.get('pins').status !== 'loading') spread(() => this.#reload(['pins']))
  }

  get #me() {
    return currentUserId(this.options.context)
  }
}
