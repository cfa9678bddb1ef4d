import { currentUserId, type SharedContext } from '../context.ts'
import { keepIfEqual } from '../equality.ts'
import type { ChannelEvent, UserEvent } from '../events.ts'
import type { Store } from '../store.ts'
import type { Channel, UserEvents, UserSummary } from '../types.ts'
import { ChannelList, type ChannelsFilter, type ChannelsStore } from './list.ts'
import {
  applyChannelEvent,
  type ListedChannel,
  mergeFetched,
  ownReadSeq,
  sortKeysOf,
  withChannelProfile,
  withSettings,
  withUserProfile,
} from './reducer.ts'
import { RecordSubscriptions } from './subscriptions.ts'
import { type Unread, UnreadCounts } from './unread.ts'

/** The records of the user's channels as far as they were loaded, and lists of them. */
export class ChannelsCache {
  readonly #channels = new Map<string, ListedChannel>()
  readonly #lists = new Map<string, ChannelList>()
  readonly #subscriptions: RecordSubscriptions
  /**
   * When something without a rev last changed by an event: `count <channel>`, `settings <channel>`,
   * `profile <user>` or `total`. The response to an earlier request may be older.
   */
  readonly #changedAt = new Map<string, number>()
  readonly #profiles = new Map<string, UserSummary>()
  /** How far the user had read a channel by events. A response may be older. */
  readonly #reads = new Map<string, number>()
  readonly #unread: UnreadCounts
  /** A logical clock: it advances with each event. */
  #clock = 0

  constructor(readonly context: SharedContext) {
    this.#unread = new UnreadCounts(context)
    this.#subscriptions = new RecordSubscriptions(context.topics)
  }

  get unread(): Store<Unread> {
    return this.#unread.store
  }

  list(filter: ChannelsFilter = {}): ChannelsStore {
    const key = filter.type ?? ''
    const list = this.#lists.get(key) ?? this.#createList(filter)
    this.#lists.set(key, list)
    return list.store
  }

  /** The record of a channel, if it was loaded. */
  get(channelId: string): Channel | undefined {
    return this.#channels.get(channelId)?.channel
  }

  /** The user marks the channel as read: it is shown so until the server says what is left. */
  startReading(channelId: string) {
    this.#unread.pendingReads.start(channelId)
    this.#refresh()
  }

  /** The server has refused it. */
  undoReading(channelId: string) {
    if (this.#unread.pendingReads.end(channelId)) this.#refresh()
  }

  handleChannelEvent(channelId: string, event: ChannelEvent) {
    const readSeq = Math.max(ownReadSeq(event, this.#me), this.#reads.get(channelId) ?? 0)
    if (readSeq > 0) this.#reads.set(channelId, readSeq)
    const listed = this.#channels.get(channelId)
    if (!listed) return
    if (event.type === 'channel.deleted') return this.remove(channelId)
    const { needsRefetch, ...next } = applyChannelEvent(listed, event, this.#me)
    if (needsRefetch) this.#refetch(channelId)
    if (next.channel === listed.channel) return
    this.#channels.set(channelId, next)
    this.#refresh()
  }

  handleUserEvent({ type, payload }: UserEvent) {
    this.#clock += 1
    switch (type) {
      case 'channel.added':
        return this.#add(payload.channel)
      case 'channel.removed':
      case 'channel.deleted':
        return this.remove(payload.channelId)
      case 'channel.updated':
        return this.#update(payload.channelId, (listed) =>
          withChannelProfile(listed, payload.channel),
        )
      case 'channel.settings_changed':
        this.#changedAt.set(`settings ${payload.channelId}`, this.#clock)
        return this.#update(payload.channelId, (listed) => withSettings(listed, payload))
      case 'user.updated':
        return this.#applyProfile(payload.user)
      case 'channel.unread_changed':
        return this.#setUnread(payload)
      case 'channel.total_unread_changed':
        this.#changedAt.set('total', this.#clock)
        return this.#setTotal(payload.count)
    }
  }

  remove(channelId: string) {
    this.#subscriptions.remove(channelId)
    this.#reads.delete(channelId)
    if (this.#channels.delete(channelId)) this.#refresh()
  }

  /** The connection was lost: the lists may miss changes. */
  handleDisconnect() {
    this.#reads.clear()
    this.#unread.pendingReads.clear()
    for (const list of this.#lists.values()) list.handleDisconnect()
  }

  /**
   * Connected again; `hasGap` if events of the user's topic were missed. Counts come in ephemeral
   * events, so all are fetched.
   */
  async handleReconnect({ hasGap }: { hasGap: boolean }) {
    // The events of reads since the connection was lost are missed as well.
    this.#unread.pendingReads.clear()
    for (const channelId of this.#channels.keys()) this.#refetch(channelId)
    this.#requestTotal()
    await Promise.all([...this.#lists.values()].map((list) => list.reload({ hasGap })))
  }

  #refetch(channelId: string) {
    const since = this.#clock
    this.context.catchUp.request(channelId, {
      since: null,
      apply: ({ channel, removed }) => {
        if (removed) this.remove(channelId)
        if (channel) this.#put(channel, since)
        return false
      },
    })
  }

  /** Events omit the last message: the log would keep its text after a deletion. */
  #add(channel: UserEvents['channel.added']['channel']) {
    this.#put({ ...channel, lastMessage: null }, this.#clock)
    this.#refetch(channel.id)
  }

  /** Puts a record that was requested at the time `since` into the cache. */
  #put(channel: Channel, since: number) {
    this.#merge(channel, since)
    this.#refresh()
  }

  #merge(channel: Channel, since: number, sortKey = 0) {
    const hasChanged = (what: string) => (this.#changedAt.get(what) ?? 0) > since
    const merged = mergeFetched(this.#channels.get(channel.id), channel, {
      isCountOvertaken: hasChanged(`count ${channel.id}`),
      areSettingsOvertaken: hasChanged(`settings ${channel.id}`),
      readSeq: this.#reads.get(channel.id) ?? 0,
    })
    const newProfiles = [...this.#profiles.values()].filter(({ id }) => hasChanged(`profile ${id}`))
    const listed = newProfiles.reduce(
      (result, user) => withUserProfile(result, user, this.#me),
      merged,
    )
    this.#channels.set(channel.id, { ...listed, sortKey: Math.max(listed.sortKey, sortKey) })
    this.#subscribe(channel)
    // Only the server knows which message is the last one, if events have overtaken a deletion.
    if (listed.channel.lastMessage?.deletedAt) this.#refetch(channel.id)
  }

  #applyProfile(user: UserSummary) {
    this.#changedAt.set(`profile ${user.id}`, this.#clock)
    this.#profiles.set(user.id, user)
    for (const [id, listed] of this.#channels)
      this.#channels.set(id, withUserProfile(listed, user, this.#me))
    this.#refresh()
  }

  #requestTotal() {
    const since = this.#clock
    this.context.catchUp.requestTotal((count) => {
      if ((this.#changedAt.get('total') ?? 0) <= since) this.#setTotal(count)
    })
  }

  #setTotal(total: number) {
    this.#unread.setTotal(total)
    this.#refresh()
  }

  #setUnread({ channelId, count }: UserEvents['channel.unread_changed']) {
    this.#changedAt.set(`count ${channelId}`, this.#clock)
    this.#unread.pendingReads.end(channelId)
    // Without a subscription, the message behind the count is not known.
    if (!this.#subscriptions.has(channelId)) this.#refetch(channelId)
    this.#update(channelId, ({ channel, sortKey }) => ({
      channel: { ...channel, unreadCount: count },
      sortKey,
    }))
  }

  #update(channelId: string, update: (listed: ListedChannel) => ListedChannel) {
    const listed = this.#channels.get(channelId)
    if (!listed) return
    const { channel, sortKey } = update(listed)
    this.#channels.set(channelId, { channel: keepIfEqual(listed.channel, channel), sortKey })
    this.#refresh()
  }

  #refresh() {
    this.#unread.refresh([...this.#channels.values()].map(({ channel }) => channel))
    for (const list of this.#lists.values()) list.refresh()
  }

  #subscribe({ id, rev }: Channel) {
    this.#subscriptions.add(id, ({ offset }) => {
      // Events between the record and the subscription were missed.
      if (offset > (this.#channels.get(id)?.channel.rev ?? rev)) this.#refetch(id)
    })
  }

  #createList(filter: ChannelsFilter) {
    return new ChannelList({
      filter,
      context: this.context,
      channels: () => this.#unread.pendingReads.showAll([...this.#channels.values()]),
      totalUnread: () => this.unread.getSnapshot().total,
      startFetch: () => {
        const since = this.#clock
        return (page) => this.#mergePage(page, since)
      },
    })
  }

  /** Returns the last sort key of the page. */
  #mergePage(page: Channel[], since: number) {
    const sortKeys = sortKeysOf(page)
    for (const channel of page) this.#merge(channel, since, sortKeys.get(channel.id))
    this.#refresh()
    return Math.min(...page.map(({ id }) => this.#channels.get(id)?.sortKey ?? 0))
  }

  get #me() {
    return currentUserId(this.context)
  }
}
