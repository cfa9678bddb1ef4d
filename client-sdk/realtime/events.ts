import type { OutboxOperation } from '../backing-store/storage.ts'
import type { ChatError } from '../calls/error.ts'
import type { ChannelEvents, UserEvents } from '../generated/types.ts'
import { notify } from '../shared/store.ts'

/** An event of a channel's topic. `rev` is its position there; ephemeral events have none. */
export type ChannelEvent = {
  [Type in keyof ChannelEvents]: {
    type: Type
    payload: ChannelEvents[Type]
    rev: number | undefined
  }
}[keyof ChannelEvents]

/** An event of the user's own topic. */
export type UserEvent = {
  [Type in keyof UserEvents]: { type: Type; payload: UserEvents[Type] }
}[keyof UserEvents]

type EventSource = {
  /** The topic the event was published to. */
  topic: string
  /** The channel, for events of a channel's topic. */
  channelId?: string | undefined
  /** The event's position in its topic; absent for ephemeral events such as typing. */
  rev?: number | undefined
}
type InChannel = {
  /** The channel. */
  channelId: string
}
type EventsOf<Payloads, Source = EventSource> = {
  [Type in keyof Payloads]: { type: Type; payload: Payloads[Type] } & Source
}
type ServerEvents = EventsOf<Omit<ChannelEvents, keyof UserEvents>, EventSource & InChannel> &
  EventsOf<Omit<UserEvents, keyof ChannelEvents>> &
  EventsOf<Pick<ChannelEvents, keyof ChannelEvents & keyof UserEvents>>

/** The stores of these channels were reloaded after a gap that events could not fill. */
export type Resync = {
  /** Tells it from other events. */
  type: 'resync'
  /** The channels, by their ids. */
  channelIds: string[]
}
/** The server has refused what the user did, perhaps before a reload: it is not shown any more. */
export type Refused = {
  /** Tells it from other events. */
  type: 'outbox.refused'
  /** Where it was done. */
  channelId: string
  /** The operation. */
  operation: OutboxOperation
  /** Why it was refused. */
  error: ChatError
}
/**
 * The user has logged out, here or in another tab: the client has ended. Log them out of the page,
 * too, and make another client for the next login.
 */
export type LoggedOut = {
  /** Tells it from other events. */
  type: 'logout'
}
/** The events of `chat.on`, by type. */
export type ChatEvents = { [Type in keyof ServerEvents]: ServerEvents[Type] } & {
  /** Stores were reloaded after a gap. */
  resync: Resync
  /** Something that the user did was refused. */
  'outbox.refused': Refused
  /** The client has ended. */
  logout: LoggedOut
}
/** Any event: a union discriminated by `type`. */
export type ChatEvent = ChatEvents[keyof ChatEvents]

export type Emitter = ReturnType<typeof createEmitter>

/** Calls listeners with the events of their type, or with every event if they listen to `*`. */
export function createEmitter(onError: (error: unknown) => void) {
  const listenersByType = new Map<string, Set<(event: ChatEvent) => void>>()
  return {
    on: (type: string, listener: (event: ChatEvent) => void) => {
      const own = (event: ChatEvent) => {
        if (listeners.has(own)) listener(event)
      }
      const listeners = listenersByType.get(type) ?? new Set()
      listenersByType.set(type, listeners.add(own))
      return () => void listeners.delete(own)
    },
    emit: (event: ChatEvent) => {
      const listeners = [
        ...(listenersByType.get(event.type) ?? []),
        ...(listenersByType.get('*') ?? []),
      ]
      for (const listener of listeners) notify(() => listener(event), onError)
    },
  }
}
