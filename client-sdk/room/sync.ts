import type { LiveContext } from '../catch-up.ts'
import type { Position } from '../connection.ts'
import type { ChatError } from '../error.ts'
import type { ChannelChanges, UserSummary } from '../types.ts'
import { facesOf, rename } from './profiles.ts'
import { Crossings } from './read-race.ts'
import {
  applyEvent,
  applyLate,
  type ChannelState,
  learn,
  type TopicEvent,
  unknown,
} from './reducer.ts'
import { type Load, type Part, type PartState, Parts } from './resources.ts'
import { countOf, trim } from './timeline.ts'

type Options = {
  context: LiveContext
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

/**
 * Keeps what is known of a channel true: subscribes, then loads, and puts what is heard meanwhile over what was loaded;
 * the revs make that the same as having heard it in time. After a hole it asks what changed.
 */
export class Feed {
  state: ChannelState = unknown
  readonly #parts: Parts
  readonly #crossings = new Crossings()
  #generation = 0
  #watchers = 0
  #leaveTimer: ReturnType<typeof setTimeout> | undefined
  #unsubscribe: (() => void) | undefined
  #position: Position | undefined
  #isSubscribed = false
  /** So many messages are shown; of more, the oldest go. */
  #most = LIVE_MOST

  constructor(readonly options: Options) {
    this.#parts = new Parts({
      fresh: () => (this.#isSubscribed || !this.isHearing ? 'ready' : 'stale'),
      onLoaded: (part, apply, heard) => {
        this.state = heard.reduce((state, { apply }) => apply(state), apply(this.state))
        this.#most = countOf(this.state) + LIVE_MOST
        if (part === 'main') options.onHealed()
        if (this.state.arePinsStale && part !== 'pins') this.#reloadPins()
        // Whether their authors had read everything until then, only the server knows.
        if (part === 'reads' && heard.some(({ event }) => event?.type === 'message.new'))
          this.#retryLater(() => this.#parts.forget(part))
      },
      onFailed: (part, { retryable }) => {
        if (retryable)
          this.#retryLater(() => this.partOf(part).status === 'failed' && this.#parts.forget(part))
      },
      onChange: options.onChange,
    })
  }

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
    return this.#parts.of(part)
  }

  /** A part is looked at: loads it if it is not known, once the topic is subscribed. */
  want(part: Part) {
    if (!this.#isSubscribed || this.partOf(part).status !== 'idle') return
    void this.load(part, this.options.loadOf(part)).catch(() => {})
  }

  /** Loads into a part; what is heard meanwhile goes on top. One load of a part at a time. */
  load(part: Part, load: Load): Promise<void> {
    return this.#parts.load(part, load)
  }

  hear(event: TopicEvent) {
    if (!this.#unsubscribe) return
    if (!event.type.startsWith('typing'))
      this.#parts.journal.note({ event, apply: (state) => applyLate(state, event, this.#me) })
    if (event.rev !== undefined && this.#position)
      this.#position = { ...this.#position, offset: event.rev }
    this.update((state) => trim(applyEvent(state, event, this.#me), this.#most))
    if (this.#crossings.note(event)) this.#retryLater(() => this.#parts.forget('reads'))
  }

  /** Somebody has a new name or image. */
  rename(user: UserSummary) {
    const apply = (state: ChannelState) => rename(state, facesOf(user))
    this.#parts.journal.note({ apply })
    this.update(apply)
  }

  update(change: (state: ChannelState) => ChannelState) {
    const next = change(this.state)
    if (next === this.state) return
    this.state = next
    if (next.arePinsStale) this.#reloadPins()
    this.options.onChange()
  }

  /** The connection is lost: what is shown may no longer be true. */
  pause() {
    this.#isSubscribed = false
    this.#parts.turn(['ready'], 'stale')
    if (this.state.typing.length > 0) this.state = { ...this.state, typing: [] }
    this.options.onChange()
  }

  /** The channel is not, or no longer, this user's to read. */
  refuse(error: ChatError) {
    this.#generation += 1
    this.#parts.stopLoading()
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#isSubscribed = false
    this.#position = undefined
    this.state = unknown
    for (const part of new Set([...this.#parts.names, 'main']))
      this.#parts.set(part, { status: 'failed', error })
    this.options.onChange()
  }

  /** The channel is this user's again. */
  return() {
    if (this.isWatched) this.#subscribe()
  }

  #subscribe() {
    if (this.#unsubscribe) return
    const { context, channelId } = this.options
    this.#unsubscribe = context.topics.join(
      channelId,
      (context) => this.#onSubscribed(context),
      this.#position,
    )
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
    this.options.context.catchUp.ask(this.options.channelId, {
      since: this.state.rev,
      take: (changes) => this.#heal(changes),
    })
  }

  /** Fills a hole with what the server says has changed; or, when that is too much, starts anew. */
  async #heal(changes: ChannelChanges): Promise<'healed' | 'told'> {
    if (!this.#unsubscribe || changes.removed) return 'told'
    const { rev = 0, messages = [] } = changes
    if (changes.resync) return this.#restart(rev)
    this.update((state) => ({ ...learn(state, messages), rev: Math.max(state.rev, rev) }))
    if (changes.more)
      this.options.context.catchUp.ask(this.options.channelId, {
        since: rev,
        take: (next) => this.#heal(next),
      })
    else this.#settle(['members', 'reads', 'pins'])
    this.options.onHealed()
    return 'healed'
  }

  /** Loads all anew; what is known is shown, as stale, until then. */
  async #restart(rev: number): Promise<'healed'> {
    this.#generation += 1
    this.#parts.stopLoading()
    const parts = this.#parts.names
    for (const part of parts) this.#parts.set(part, { status: 'stale' })
    const load = this.options.loadOf('main')
    const first = async () => {
      const apply = await load()
      return () => apply({ ...unknown, rev })
    }
    await this.load('main', first).catch(() => {
      this.state = { ...unknown, rev }
    })
    for (const part of parts) if (part !== 'main') this.#parts.forget(part)
    this.options.onHealed()
    this.#look(parts)
    return 'healed'
  }

  /** All is known again but these parts: those looked at are loaded, the others forgotten, also what is being loaded from before. */
  #settle(lost: Part[]) {
    this.#parts.turn(['stale', 'failed'], 'ready')
    for (const part of lost) this.#parts.forget(part)
    this.options.onChange()
    this.#look(lost)
  }

  #look(parts: Part[]) {
    const watched = new Set(['main', ...this.options.watched()])
    for (const part of new Set([...parts, ...watched])) if (watched.has(part)) this.want(part)
  }

  /** Who pinned what is told by no event. */
  async #reloadPins() {
    this.update((state) => ({ ...state, arePinsStale: false }))
    await this.#parts.untilIdle('pins')
    await this.load('pins', this.options.loadOf('pins')).catch(() => {})
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
    return this.options.context.session()?.user.id ?? ''
  }
}
