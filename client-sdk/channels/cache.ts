import type { ShownChannels } from '../backing-store/snapshot-source.ts'
import { currentUserId, type SharedContext } from '../context.ts'
import type { Channel, UserEvents, UserSummary } from '../generated/types.ts'
import type { ChannelEvent, UserEvent } from '../realtime/events.ts'
import { keepIfEqual } from '../shared/equality.ts'
import type { Store } from '../shared/store.ts'
import { spread } from '../shared/timing.ts'
import { LatestProfiles } from './latest-profiles.ts'
import { ChannelList, type ChannelsFilter, type ChannelsStore } from './list.ts'
import { loadRecord, type Merge } from './record-load.ts'
import {
  applyChannelEvent,
  type ListedChannel,
  mergeFetched,
  ownReadSeq,
  sortKeysOf,
  withChannelProfile,
  withUserProfile,
} from './reducer.ts'
import { RecordSubscriptions } from './subscriptions.ts'
import { type Unread, UnreadCounts } from './unread.ts'
import { unused } from './unused.ts'
import { hasUnreadCount, type ReadAnswer, type Source, VersionedParts } from './versions.ts'

/** The records of the user's channels, as far as they are loaded, and the lists of them. */
export class ChannelsCache {
  readonly #channels = new Map<string, ListedChannel>()
  readonly #lists = new Map<string, ChannelList>()
  readonly #subscriptions: RecordSubscriptions
  readonly #parts = new VersionedParts()
  readonly profiles = new LatestProfiles()
  readonly #unread: UnreadCounts
  readonly unread: Store<Unread>
  readonly #me = () => currentUserId(this.context)
  /** The part that snapshots store and restore. */
  readonly restorable: ShownChannels

  constructor(readonly context: SharedContext) {
    this.#unread = new UnreadCounts(context)
    const [channels, lists, unread] = [this.#channels, this.#lists, this.#unread]
    const refresh = () => this.#refresh()
    this.restorable = { channels, lists, unread, refresh, remove: (...ids) => this.remove(...ids) }
    this.unread = unread.store
    this.#subscriptions = new RecordSubscriptions(context.topics)
  }

  readonly list = (filter: ChannelsFilter = {}): ChannelsStore =>
    (this.#lists.get(filter.type ?? '') ?? this.#createList(filter)).store

  /** The record of a channel, if it was loaded. */
  readonly get = (channelId: string) => this.#channels.get(channelId)?.channel

  shown(channelId: string): Channel | undefined {
    const channel = this.get(channelId)
    return channel && this.#unread.pendingReads.show(channel)
  }

  readonly load = (channelId: string) => loadRecord(this.context, channelId, this.#startFetch())

  /** Notes that the user reads up to a message. Until the answer, the last one is shown as read. */
  startReading(channelId: string, seq = Number.POSITIVE_INFINITY): boolean {
    const isShown = seq >= (this.get(channelId)?.lastMessage?.seq ?? 0)
    if (isShown) this.#unread.pendingReads.begin(channelId)
    this.#refresh()
    return isShown
  }

  endReading(channelId: string) {
    this.#unread.pendingReads.end(channelId)
    this.#refresh()
  }

  /** The server answered a read with the count that is left. */
  takeReadAnswer(channelId: string, answer: Partial<ReadAnswer>) {
    if (!hasUnreadCount(answer)) return
    const lastReadSeq = this.get(channelId)?.lastReadSeq ?? 0
    this.#show(channelId, this.#parts.takeAnswer(channelId, answer, lastReadSeq))
  }

  handleChannelEvent(channelId: string, event: ChannelEvent) {
    this.#parts.takeRead(channelId, ownReadSeq(event, this.#me()))
    const listed = this.#channels.get(channelId)
    if (!listed) return
    if (event.type === 'channel.deleted') return this.handleAccessLost(channelId)
    const { needsRefetch, ...next } = applyChannelEvent(listed, event, this.#me())
    if (needsRefetch) spread(() => this.#refetchDeletedLast(channelId))
    if (next.channel === listed.channel) return
    this.#channels.set(channelId, next)
    this.#refresh()
  }

  /** `offset` is the position of a durable event in the user's topic. */
  handleUserEvent({ type, payload }: UserEvent, offset = 0) {
    switch (type) {
      case 'channel.added':
        return this.#add(payload.channel, offset)
      case 'channel.updated':
        return this.#update(payload.channelId, withChannelProfile(payload.channel))
      case 'channel.settings_changed':
        return this.#show(payload.channelId, this.#parts.takeSettings(payload, offset))
      case 'user.updated':
        return this.#applyProfile(payload.user)
      case 'channel.unread_changed':
        return this.#handleUnread(payload)
      case 'channel.total_unread_changed':
        this.#unread.takeEvent(payload)
        return this.#refresh()
    }
  }

  remove(...channelIds: string[]) {
    for (const id of channelIds)
      for (const part of [this.#subscriptions, this.#parts, this.#channels]) part.delete(id)
    this.#refresh()
  }

  handleAccessLost(channelId: string) {
    this.remove(channelId)
    this.context.keeper()?.removeRoom(channelId)
  }

  readonly release = (): void => this.remove(...unused(this))

  /** Handles the loss of the connection: the lists may miss changes. */
  handleDisconnect() {
    this.#parts.clearReads()
    for (const list of this.#lists.values()) list.handleDisconnect()
  }

  /** Fetches all counts, which are ephemeral. A gap ends once all lists have loaded. */
  async handleReconnect(missed: { gap: object | undefined }) {
    const { gap } = missed
    if (gap) {
      // Versions may be lower after a backup was restored. The answers have missed names.
      this.#parts.clear()
      this.profiles.clear()
    }
    this.#unread.version = 0
    const [lists, merge] = [[...this.#lists.values()], this.#startFetch()]
    for (const list of lists) list.trim()
    for (const channelId of this.#channels.keys()) this.#refetch(channelId)
    // A list that loads from now on brings the total.
    if (lists.every(({ currentLoad }) => currentLoad))
      this.context.catchUp.requestTotal((total) => merge([], 0, total))
    await Promise.all(lists.map((list) => list.reload(missed)))
    if (missed.gap === gap) missed.gap = undefined
    this.context.keeper()?.list.end()
  }

  #refetch(channelId: string, isIncomplete?: boolean) {
    const [since, rev] = [this.profiles.now, this.get(channelId)?.rev]
    this.context.catchUp.request(channelId, {
      since: null,
      apply: ({ channel, removed }, settingsVersion) => {
        if (channel) this.#merge(channel, { since, settingsVersion })
        else if (removed) this.handleAccessLost(channelId)
        // No event brings the fields that it lacks, nor an answer that events have overtaken.
        const isOvertaken = channel && ![rev, channel.rev].includes(this.get(channelId)?.rev)
        if (isIncomplete && isOvertaken) this.#refetch(channelId, true)
        this.#refresh()
      },
    })
  }

  /** Events omit the last message: the event log would keep its text. */
  #add(channel: UserEvents['channel.added']['channel'], settingsVersion: number) {
    this.#merge({ ...channel, lastMessage: null }, { since: this.profiles.now, settingsVersion })
    this.#refresh()
    this.#refetch(channel.id, true)
  }

  #merge(channel: Channel, { since, settingsVersion }: Source, sortKey = 0) {
    const { id } = channel
    const newest = this.#parts.takeRecord(channel, settingsVersion)
    const merged = mergeFetched(this.#channels.get(id), channel, newest)
    const listed = this.profiles
      .after(since)
      .reduce((result, user) => withUserProfile(result, user, this.#me()), merged)
    this.#channels.set(id, { ...listed, sortKey: Math.max(listed.sortKey, sortKey) })
    this.#subscriptions.add(id, ({ offset }) => {
      // Events between the record and the subscription were missed.
      if (offset > (this.get(id)?.rev ?? channel.rev)) this.#refetch(id, true)
    })
    this.#refetchDeletedLast(id)
  }

  /** Only the server knows which message is the last one, if events have overtaken a deletion. */
  #refetchDeletedLast(channelId: string) {
    if (this.get(channelId)?.lastMessage?.deletedAt) this.#refetch(channelId)
  }

  #applyProfile(user: UserSummary) {
    this.profiles.takeProfile(user)
    for (const [id, listed] of this.#channels)
      this.#channels.set(id, withUserProfile(listed, user, this.#me()))
    this.#refresh()
  }

  #handleUnread({ channelId, count, version }: UserEvents['channel.unread_changed']) {
    // Without a subscription, the message behind the count is not known.
    if (!this.#subscriptions.has(channelId)) this.#refetch(channelId)
    const unread = { unreadCount: count, unreadVersion: version }
    this.#show(channelId, this.#parts.takeCount(channelId, unread))
  }

  #show(channelId: string, parts: Partial<Channel>) {
    this.#update(channelId, (listed) => ({ ...listed, channel: { ...listed.channel, ...parts } }))
  }

  #update(channelId: string, update: (listed: ListedChannel) => ListedChannel) {
    const listed = this.#channels.get(channelId)
    if (!listed) return
    const next = update(listed)
    this.#unread.total += next.channel.unreadCount - listed.channel.unreadCount
    this.#channels.set(channelId, { ...next, channel: keepIfEqual(listed.channel, next.channel) })
    this.#refresh()
  }

  #refresh() {
    this.#unread.redraw([...this.#channels.values()].map(({ channel }) => channel))
    for (const list of this.#lists.values()) list.redraw()
    this.context.note()
  }

  #createList(filter: ChannelsFilter) {
    const list = new ChannelList({
      filter,
      context: this.context,
      channels: this.#channels,
      show: (channel) => this.#unread.pendingReads.show(channel),
      totalUnread: () => this.unread.getSnapshot().total,
      startFetch: () => this.#startFetch(),
      onTrimmed: this.release,
    })
    this.#lists.set(filter.type ?? '', list)
    this.context.keeper()?.list.showIn(list)
    return list
  }

  #startFetch(): Merge {
    const since = this.profiles.now
    return (page, settingsVersion, total = {}) => {
      this.#unread.take(total)
      const [response, sortKeys] = [{ since, settingsVersion }, sortKeysOf(page)]
      for (const channel of page) this.#merge(channel, response, sortKeys.get(channel.id))
      this.#refresh()
      return Math.min(...page.map(({ id }) => this.#channels.get(id)?.sortKey ?? 0))
    }
  }
}
