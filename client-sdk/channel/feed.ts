import type { Position } from '../connection.ts'
import type { Engine } from '../engine.ts'
import { type ChatError, toChatError } from '../error.ts'
import type { ChannelChanges, UserSummary } from '../types.ts'
import { facesOf, rename } from './faces.ts'
import { Journal } from './journal.ts'
import { countOf, trim } from './pages.ts'
import { applyEvent, applyLate, type ChannelState, learn, type TopicEvent, unknown } from './state.ts'

/** A part of a channel that is loaded by itself: `main`, `members`, `reads`, `pins`, or `thread:<id>`. */
export type Part = string
export type Status = 'idle' | 'loading' | 'ready' | 'stale' | 'failed'
export type PartState = { status: Status; error?: ChatError | undefined }
/** Reads a part from the server; answers with how it goes into the state. */
export type Load = () => Promise<(state: ChannelState) => ChannelState>

type Options = {
  engine: Engine
  channelId: string
  loadOf: (part: Part) => Load
  /** Which parts somebody looks at. */
  watched: () => Part[]
  onChange: () => void
  /** A hole was filled by what the server says now. */
  onHealed: () => void
}

/** How long a channel nobody watches stays subscribed, for those who come back at once. */
const LINGER_MS = 1_000
/** After so long a part that could not be loaded, or may not be right, is loaded again. */
const RETRY_MS = 1_000
/** So many messages may come in after the user has last paged; then there are pages again. */
const LIVE_MOST = 1_000
/** News of who reads and sends within so long of each other may have crossed. */
const CROSSING_MS = 1_000

/**
 * Keeps what is known of a channel true: subscribes, then loads, and puts what is heard meanwhile over what was loaded;
 * the revs make that the same as having heard it in time. After a hole it asks what changed.
 */
export class Feed {
  state: ChannelState = unknown
  readonly #parts = new Map<Part, PartState>()
  readonly #loading = new Map<Part, Promise<void>>()
  readonly #journal = new Journal()
  /** When members were last heard to read. */
  readonly #readAt = new Map<string, number>()
  #generation = 0
  #watchers = 0
  #leaveTimer: ReturnType<typeof setTimeout> | undefined
  #unsubscribe: (() => void) | undefined
  #position: Position | undefined
  #isSubscribed = false
  /** So many messages are shown; of more, the oldest go. */
  #most = LIVE_MOST

  constructor(readonly options: Options) {}

  watch(): () => void {
    this.#watchers += 1
    clearTimeout(this.#leaveTimer)
    this.#subscribe()
    let isWatching = true
    return () => {
      if (!isWatching) return
      isWatching = false
      this.#watchers -= 1
      if (this.#watchers === 0) this.#leaveTimer = setTimeout(() => this.#leave(), LINGER_MS)
    }
  }

  get isHearing() {
    return this.#unsubscribe !== undefined
  }

  get isWatched() {
    return this.#watchers > 0
  }

  partOf(part: Part): PartState {
    return this.#parts.get(part) ?? { status: 'idle' }
  }

  /** A part is looked at: loads it if it is not known, once the topic is subscribed. */
  want(part: Part) {
    if (!this.#isSubscribed || this.partOf(part).status !== 'idle') return
    void this.load(part, this.options.loadOf(part)).catch(() => {})
  }

  /** Loads into a part; what is heard meanwhile goes on top. One load of a part at a time. */
  load(part: Part, load: Load): Promise<void> {
    const known = this.#loading.get(part)
    if (known) return known
    const isCurrent = () => this.#loading.get(part) === loading
    const loading: Promise<void> = this.#load(part, { load, isCurrent }).finally(() => isCurrent() && this.#loading.delete(part))
    this.#loading.set(part, loading)
    return loading
  }

  hear(event: TopicEvent) {
    if (!this.#unsubscribe) return
    if (!event.type.startsWith('typing')) this.#journal.note({ event, apply: (state) => applyLate(state, event, this.#me) })
    if (event.rev !== undefined && this.#position) this.#position = { ...this.#position, offset: event.rev }
    this.update((state) => applyEvent(state, event, this.#me))
    if (event.type === 'message.new') this.update((state) => trim(state, this.#most))
    if (event.type === 'read.updated') this.#readAt.set(event.payload.userId, Date.now())
    if (event.type === 'message.new' && Date.now() - (this.#readAt.get(event.payload.message.userId) ?? 0) < CROSSING_MS)
      this.#retryLater(() => this.#parts.delete('reads'))
  }

  /** Somebody has a new name or image. */
  rename(user: UserSummary) {
    const apply = (state: ChannelState) => rename(state, facesOf(user))
    this.#journal.note({ apply })
    this.update(apply)
  }

  update(change: (state: ChannelState) => ChannelState) {
    const next = change(this.state)
    if (next === this.state) return
    this.state = next
    if (next.arePinsStale) this.#reload('pins')
    this.options.onChange()
  }

  /** The connection is lost: what is shown may no longer be true. */
  pause() {
    this.#isSubscribed = false
    for (const [part, { status }] of this.#parts) if (status === 'ready') this.#parts.set(part, { status: 'stale' })
    if (this.state.typing.length > 0) this.state = { ...this.state, typing: [] }
    this.options.onChange()
  }

  /** The channel is not, or no longer, this user's to read. */
  refuse(error: ChatError) {
    this.#generation += 1
    this.#loading.clear()
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#isSubscribed = false
    this.#position = undefined
    this.state = unknown
    for (const part of new Set([...this.#parts.keys(), 'main'])) this.#parts.set(part, { status: 'failed', error })
    this.options.onChange()
  }

  /** The channel is this user's again. */
  return() {
    if (this.isWatched) this.#subscribe()
  }

  #subscribe() {
    if (this.#unsubscribe) return
    const { engine, channelId } = this.options
    this.#unsubscribe = engine.topics.join(channelId, (context) => this.#onSubscribed(context), this.#position)
    this.#parts.set('main', { status: this.state.main ? 'stale' : 'loading' })
    this.options.onChange()
  }

  #leave() {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.pause()
  }

  #onSubscribed({ isRecovered, position }: { isRecovered: boolean; position: Position }) {
    this.#isSubscribed = true
    this.#position = position
    if (!this.state.main) {
      this.state = { ...this.state, rev: position.offset }
      return this.#settle(['main'])
    }
    // Reading and new names are told only once.
    if (isRecovered) return this.#settle(['reads', 'members'])
    this.options.engine.catchUp.ask(this.options.channelId, { since: this.state.rev, take: (changes) => this.#heal(changes) })
  }

  /** Fills a hole with what the server says has changed; or, when that is too much, starts anew. */
  async #heal(changes: ChannelChanges): Promise<'healed' | 'told'> {
    if (!this.#unsubscribe || changes.removed) return 'told'
    const { rev = 0, messages = [] } = changes
    if (changes.resync) return this.#restart(rev)
    this.update((state) => ({ ...learn(state, messages), rev: Math.max(state.rev, rev) }))
    if (changes.more) this.options.engine.catchUp.ask(this.options.channelId, { since: rev, take: (next) => this.#heal(next) })
    else this.#settle([...this.#parts.keys()].filter((part) => part !== 'main' && !part.startsWith('thread:')))
    this.options.onHealed()
    return 'healed'
  }

  /** Loads all anew; what is known is shown, as stale, until then. */
  async #restart(rev: number): Promise<'healed'> {
    this.#generation += 1
    this.#loading.clear()
    const parts = [...this.#parts.keys()]
    for (const part of parts) this.#parts.set(part, { status: 'stale' })
    const load = this.options.loadOf('main')
    const first = async () => {
      const apply = await load()
      return () => apply({ ...unknown, rev })
    }
    await this.load('main', first).catch(() => {
      this.state = { ...unknown, rev }
    })
    for (const part of parts) if (part !== 'main') this.#parts.delete(part)
    this.options.onHealed()
    this.#look(parts)
    return 'healed'
  }

  /** All is known again but these parts: those looked at are loaded, the others forgotten, also what is being loaded from before. */
  #settle(lost: Part[]) {
    for (const [part, { status }] of this.#parts) if (status === 'stale' || status === 'failed') this.#parts.set(part, { status: 'ready' })
    for (const part of lost) {
      this.#parts.delete(part)
      this.#loading.delete(part)
    }
    this.options.onChange()
    this.#look(lost)
  }

  #look(parts: Part[]) {
    const watched = new Set(['main', ...this.options.watched()])
    for (const part of new Set([...parts, ...watched])) if (watched.has(part)) this.want(part)
  }

  #reload(part: Part) {
    this.update((state) => ({ ...state, arePinsStale: false }))
    void (this.#loading.get(part) ?? Promise.resolve()).catch(() => {}).then(() => this.load(part, this.options.loadOf(part)).catch(() => {}))
  }

  async #load(part: Part, { load, isCurrent }: { load: Load; isCurrent: () => boolean }) {
    const journal = this.#journal.open()
    this.#parts.set(part, { status: this.partOf(part).status === 'stale' ? 'stale' : 'loading' })
    this.options.onChange()
    try {
      const apply = await load()
      if (!isCurrent()) return
      const heard = journal.heard()
      this.#parts.set(part, { status: this.#isSubscribed || !this.isHearing ? 'ready' : 'stale' })
      this.state = heard.reduce((state, { apply }) => apply(state), apply(this.state))
      this.#most = countOf(this.state) + LIVE_MOST
      if (part === 'main') this.options.onHealed()
      if (this.state.arePinsStale && part !== 'pins') this.#reload('pins')
      // Whether their authors had read everything until then, only the server knows.
      if (part === 'reads' && heard.some(({ event }) => event?.type === 'message.new')) this.#retryLater(() => this.#parts.delete(part))
    } catch (error) {
      if (isCurrent()) this.#fail(part, toChatError(error))
      throw error
    } finally {
      journal.close()
      this.options.onChange()
    }
  }

  #fail(part: Part, error: ChatError) {
    this.#parts.set(part, { status: 'failed', error })
    if (error.retryable) this.#retryLater(() => this.partOf(part).status === 'failed' && this.#parts.delete(part))
  }

  #retryLater(forget: () => void) {
    const generation = this.#generation
    setTimeout(() => {
      if (generation !== this.#generation) return
      forget()
      this.#look([])
    }, RETRY_MS)
  }

  get #me() {
    return this.options.engine.session()?.user.id ?? ''
  }
}
