import type { ChannelsCache } from '../channels/cache.ts'
import { startOver } from '../channels/start-over.ts'
import { NewestValues } from '../channels/versions.ts'
import type { ClientContext } from '../context.ts'
import { channelTopic, userTopic } from '../generated/topic-names.ts'
import type { TokenResult, UserSummary } from '../generated/types.ts'
import type { LiveRoom } from '../room/index.ts'
import type { WritableStore } from '../shared/store.ts'
import type { ChannelEvent, ChatEvent, UserEvent } from './events.ts'
import type { PresenceStores } from './presence.ts'

type EventDispatcherOptions = {
  context: ClientContext
  rooms: ReadonlyMap<string, LiveRoom>
  cache: ChannelsCache
  presences: PresenceStores
  me: WritableStore<TokenResult['user'] | null>
  /** Called with the epoch of the user's events. */
  onEpoch: (epoch: string) => void
}

/** Passes the server's events on to rooms, other stores and the application's listeners. */
export class EventDispatcher {
  /** The last gap in the events of the user's own topic, unless loads have made up for it. */
  gap: object | undefined = {}
  /** The numbering of the events. */
  #epoch: string | undefined
  /** By user, the event with the newest profile. */
  readonly #profiles = new NewestValues<object>()

  constructor(readonly options: EventDispatcherOptions) {}

  /** Subscribes to the topics of a user, whose session has just begun. */
  begin({ appId, user }: TokenResult) {
    const { context, rooms, cache, presences } = this.options
    const { link, topics, emitter } = context
    const topic = userTopic(appId, user.id)
    link.subscribe(topic, {
      onSubscribed: ({ isRecovered, position }) => {
        this.#handleEpoch(position.epoch)
        if (isRecovered) return
        this.gap = {}
        // After a backup was restored, versions may be lower than before.
        this.#profiles.clear()
        // The event that restored access may have been missed.
        for (const room of rooms.values()) room.handleAccessRegained()
        // The server has ended the topic while connected. In all other cases a catch-up follows
        // anyway.
        if (link.state.getSnapshot().status !== 'live') return
        presences.handleReconnect()
        cache.handleReconnect(this).catch(() => {}) // each list shows its error
      },
      onEvent: (envelope, rev) => {
        const event = envelope as UserEvent // the server validates events against the contract
        this.#handleUserEvent(event, rev)
        emitter.emit({ ...event, topic, rev } as ChatEvent) // a payload fits its type
      },
      onAccessLost: () => {},
    })
    topics.begin(appId)
  }

  handleChannelEvent(channelId: string, event: ChannelEvent) {
    const { context, rooms, cache } = this.options
    rooms.get(channelId)?.handleEvent(event)
    cache.handleChannelEvent(channelId, event)
    const topic = channelTopic(context.userSession()?.appId ?? '', channelId)
    context.emitter.emit({ ...event, topic, channelId } as ChatEvent) // a payload fits its type
    if (event.type === 'channel.deleted') this.handleAccessLost(channelId)
  }

  /** Handles that the user may not, or no longer, read the channel. */
  handleAccessLost(channelId: string) {
    this.options.cache.handleAccessLost(channelId)
    void this.options.rooms.get(channelId)?.handleAccessLost()
  }

  /** After a backup was restored revs start over: nothing is kept of those before. */
  #handleEpoch(epoch: string) {
    const { rooms, cache, onEpoch } = this.options
    onEpoch(epoch)
    this.#epoch ??= epoch
    if (this.#epoch === epoch) return
    this.#epoch = epoch
    startOver(cache.restorable)
    // Those that are watched start over with their own topics.
    for (const room of rooms.values()) room.free()
  }

  /** Some of these events are in the channel's topic too, but that reaches only its subscribers. */
  #handleUserEvent(event: UserEvent, offset: number | undefined) {
    const { context, rooms, cache, presences } = this.options
    const { type, payload } = event
    if (type === 'user.updated') {
      const { user, version = Number.NaN } = payload
      if (this.#profiles.take(user.id, payload, version) !== payload) return
      this.#applyProfile(user)
    }
    cache.handleUserEvent(event, offset)
    if (type === 'presence.online' || type === 'presence.offline')
      presences.update(payload, type === 'presence.online')
    if (type === 'channel.removed' || type === 'channel.deleted')
      this.handleAccessLost(payload.channelId)
    if (type === 'channel.added') {
      context.topics.resubscribe(payload.channel.id)
      rooms.get(payload.channel.id)?.handleAccessRegained()
    }
  }

  #applyProfile(user: UserSummary) {
    const { rooms, me } = this.options
    const known = me.getSnapshot()
    if (known?.id === user.id) me.set({ ...known, ...user })
    for (const room of rooms.values()) room.applyProfile(user)
  }
}
