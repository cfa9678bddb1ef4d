import type { LiveContext } from '../catch-up.ts'
import { Crossings } from '../room/read-race.ts'
import type { TopicEvent } from '../room/reducer.ts'
import { createStore, type Store } from '../store.ts'
import type { Channel as ChannelRecord, UserEvents, UserSummary } from '../types.ts'
import { ChannelList, type ChannelsFilter, type ChannelsStore } from './list.ts'
import { follow, type Listed, merge, placed, profiled, renamed, withSettings } from './reducer.ts'

/** Unread messages: in all, and by channel as far as channels are known. */
export type Unread = { total: number; byChannel: Readonly<Record<string, number>> }

type UserEvent = {
  [Type in keyof UserEvents]: { type: Type; payload: UserEvents[Type] }
}[keyof UserEvents]
/** Of so many listed channels the topics are heard. */
const FOLLOWED = 500

/** The user's channels, as far as they are known, and lists of them. */
export class ChannelsCache {
  readonly #channels = new Map<string, Listed>()
  readonly #lists = new Map<string, ChannelList>()
  readonly #followed = new Map<string, () => void>()
  /**
   * When something was last heard that has no rev: `count <channel>`, `settings <channel>`, `face <user>`, and `total`. What
   * was asked for before may be older. A tick is one event.
   */
  readonly #heard = new Map<string, number>()
  readonly #faces = new Map<string, UserSummary>()
  /** How far the user was last heard to have read a channel, and when. */
  readonly #reads = new Map<string, { seq: number; tick: number }>()
  readonly #crossings = new Crossings()
  readonly #unread: ReturnType<typeof createStore<Unread>>
  #tick = 0

  constructor(
    readonly context: () => LiveContext,
    report: (error: unknown) => void,
  ) {
    this.#unread = createStore<Unread>({ total: 0, byChannel: {} }, { report })
  }

  get unread(): Store<Unread> {
    return this.#unread
  }

  get(channelId: string) {
    return this.#channels.get(channelId)?.channel
  }

  list(filter: ChannelsFilter = {}): ChannelsStore {
    const key = filter.type ?? ''
    const list = this.#lists.get(key) ?? this.#createList(filter)
    this.#lists.set(key, list)
    return list.store
  }

  /** An event of a channel's topic. */
  hear(channelId: string, event: TopicEvent) {
    if (event.type === 'read.updated' && event.payload.userId === this.#me)
      this.#reads.set(channelId, { seq: event.payload.lastReadSeq, tick: ++this.#tick })
    const listed = this.#channels.get(channelId)
    if (!listed) return
    if (event.type === 'channel.deleted') return this.remove(channelId)
    const { isUnclear, ...next } = follow(listed, event, this.#me)
    if (isUnclear || (isBy(this.#me, event) && this.#crossings.note(event))) this.ask(channelId)
    if (next.channel === listed.channel) return
    this.#channels.set(channelId, next)
    this.#refresh()
  }

  /** An event of the user's own topic. */
  hearOwn({ type, payload }: UserEvent) {
    this.#tick += 1
    switch (type) {
      case 'channel.added':
        return this.#add(payload.channel)
      case 'channel.removed':
      case 'channel.deleted':
        return this.remove(payload.channelId)
      case 'channel.updated':
        return this.#change(payload.channelId, (listed) => profiled(listed, payload.channel))
      case 'channel.settings_changed':
        this.#heard.set(`settings ${payload.channelId}`, this.#tick)
        return this.#change(payload.channelId, (listed) => withSettings(listed, payload))
      case 'user.updated':
        return this.#rename(payload.user)
      case 'channel.unread_changed':
        return this.#hearUnread(payload)
      case 'channel.total_unread_changed':
        this.#heard.set('total', this.#tick)
        return this.#setTotal(payload.count)
    }
  }

  /** A channel as the server gave it in answer to a question asked at tick `since`. */
  take(channel: ChannelRecord, since: number) {
    this.#put(channel, since)
    this.#refresh()
  }

  remove(channelId: string) {
    this.#followed.get(channelId)?.()
    this.#followed.delete(channelId)
    this.#reads.delete(channelId)
    if (this.#channels.delete(channelId)) this.#refresh()
  }

  /** Asks the server how a channel is now. */
  ask(channelId: string) {
    const since = this.#tick
    this.context().catchUp.ask(channelId, {
      since: null,
      take: ({ channel, removed }) => {
        if (removed) this.remove(channelId)
        if (channel) this.take(channel, since)
        return 'told'
      },
    })
  }

  /** The connection is lost: counts and lists may no longer be true. */
  pause() {
    for (const list of this.#lists.values()) list.pause()
  }

  /** Connected again: `isWhole` when no event of the user's topic was missed. Counts are told only once, so all are asked for. */
  async resume({ isWhole }: { isWhole: boolean }) {
    for (const channelId of this.#channels.keys()) this.ask(channelId)
    const lists = [...this.#lists.values()].map((list) => list.reload({ isWhole }))
    await Promise.all([this.#loadTotal(), ...lists])
  }

  /** The event does not tell the last message: it would be kept longer than that. */
  #add(channel: UserEvents['channel.added']['channel']) {
    this.take({ ...channel, lastMessage: null }, this.#tick)
    this.ask(channel.id)
  }

  #put(channel: ChannelRecord, since: number, place = 0) {
    const isHeard = (what: string) => (this.#heard.get(what) ?? 0) > since
    const known = this.#channels.get(channel.id)
    const { seq = 0, tick = 0 } = this.#reads.get(channel.id) ?? {}
    const heard = {
      isCountHeard: isHeard(`count ${channel.id}`),
      areSettingsHeard: isHeard(`settings ${channel.id}`),
      readSeq: tick > since ? seq : 0,
    }
    const merged = merge(known, channel, heard)
    const faces = [...this.#faces.values()].filter(({ id }) => isHeard(`face ${id}`))
    const listed = faces.reduce((listed, face) => renamed(listed, face, this.#me), merged)
    this.#channels.set(channel.id, { ...listed, place: Math.max(listed.place, place) })
    this.#follow(channel)
  }

  #rename(user: UserSummary) {
    this.#heard.set(`face ${user.id}`, this.#tick)
    this.#faces.set(user.id, user)
    for (const [id, listed] of this.#channels)
      this.#channels.set(id, renamed(listed, user, this.#me))
    this.#refresh()
  }

  async #loadTotal() {
    const since = this.#tick
    const { count } = await this.context().api.reads.unreadCount()
    if ((this.#heard.get('total') ?? 0) <= since) this.#setTotal(count)
  }

  #setTotal(total: number) {
    const unread = this.#unread.getSnapshot()
    if (unread.total !== total) this.#unread.set({ ...unread, total })
    this.#refresh()
  }

  #hearUnread({ channelId, count }: UserEvents['channel.unread_changed']) {
    this.#heard.set(`count ${channelId}`, this.#tick)
    // What was said there is told to followers only.
    if (!this.#followed.has(channelId)) this.ask(channelId)
    this.#change(channelId, ({ channel, place }) => ({
      channel: { ...channel, unreadCount: count },
      place,
    }))
  }

  #change(channelId: string, change: (listed: Listed) => Listed) {
    const listed = this.#channels.get(channelId)
    if (!listed) return
    this.#channels.set(channelId, change(listed))
    this.#refresh()
  }

  #refresh() {
    const known = [...this.#channels.values()].map(({ channel }): [string, number] => [
      channel.id,
      channel.unreadCount,
    ])
    const { total, byChannel } = this.#unread.getSnapshot()
    const isSame =
      known.length === Object.keys(byChannel).length &&
      known.every(([id, count]) => byChannel[id] === count)
    if (!isSame) this.#unread.set({ total, byChannel: Object.fromEntries(known) })
    for (const list of this.#lists.values()) list.refresh()
  }

  #follow({ id, rev }: ChannelRecord) {
    if (this.#followed.has(id) || this.#followed.size >= FOLLOWED) return
    this.#followed.set(id, () => {})
    const leave = this.context().topics.join(id, ({ isRecovered, position }) => {
      // What happened between the record and the subscription was heard by nobody.
      if (!isRecovered && position.offset > (this.get(id)?.rev ?? rev)) this.ask(id)
    })
    if (this.#followed.has(id)) this.#followed.set(id, leave)
    else leave()
  }

  #createList(filter: ChannelsFilter) {
    return new ChannelList({
      filter,
      context: this.context,
      known: () => this.#channels.values(),
      total: () => this.#unread.getSnapshot().total,
      asking: () => {
        const since = this.#tick
        return (page) => this.#takePage(page, since)
      },
    })
  }

  #takePage(page: ChannelRecord[], since: number) {
    const places = placed(page)
    for (const channel of page) this.#put(channel, since, places.get(channel.id))
    this.#refresh()
    return Math.min(...page.map(({ id }) => this.#channels.get(id)?.place ?? 0))
  }

  get #me() {
    return this.context().session()?.user.id ?? ''
  }
}

const isBy = (userId: string, { type, payload }: TopicEvent) =>
  (type === 'message.new' && payload.message.userId === userId) ||
  (type === 'read.updated' && payload.userId === userId)
