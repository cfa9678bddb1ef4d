import type { ChannelEvents, UserEvents } from './types.ts'

type Durable = {
  /** The topic the event was published to. */
  topic: string
  /** The channel, for events of a channel's topic. */
  channelId?: string | undefined
  /** The event's position in its topic; absent for ephemeral events such as typing. */
  rev?: number | undefined
}
type EventsOf<Events> = { [Type in keyof Events]: { type: Type; payload: Events[Type] } & Durable }
type Both = EventsOf<Omit<ChannelEvents, keyof UserEvents>> &
  EventsOf<Omit<UserEvents, keyof ChannelEvents>> &
  EventsOf<Pick<ChannelEvents, keyof ChannelEvents & keyof UserEvents>>

/** Channels whose stores have healed after a gap that events could not fill. */
export type Resync = { type: 'resync'; channelIds: string[] }
/** What `chat.on` tells, by type. */
export type ChatEvents = { [Type in keyof Both]: Both[Type] } & { resync: Resync }
/** Any of them: `type` tells which. */
export type ChatEvent = ChatEvents[keyof ChatEvents]

export type Emitter = ReturnType<typeof createEmitter>

/** Tells listeners what happens, by type or, as `*`, everything. */
export function createEmitter(report: (error: unknown) => void) {
  const listeners = new Map<string, Set<(event: ChatEvent) => void>>()
  return {
    on: (type: string, listener: (event: ChatEvent) => void) => {
      const own = (event: ChatEvent) => listener(event)
      const set = listeners.get(type) ?? new Set()
      listeners.set(type, set.add(own))
      return () => void set.delete(own)
    },
    emit: (event: ChatEvent) => {
      for (const listener of [
        ...(listeners.get(event.type) ?? []),
        ...(listeners.get('*') ?? []),
      ]) {
        try {
          listener(event)
        } catch (error) {
          report(error)
        }
      }
    },
  }
}
