import type { Envelope, UserSummary } from '@parley/contract'
import type { StoredEvent } from './event-buffer.ts'

/** Takes committed events. Callers do not wait for it, and it cannot fail an operation. */
export type EventPublisher = {
  publish(events: StoredEvent[]): void
  broadcast(note: EphemeralNote): void
}

/** An ephemeral event of a topic, for everyone subscribed or for the subscriptions of one user. */
export type EphemeralEvent = Envelope & {
  /** Of the notes between nodes: durable events travel with hints. */
  kind: 'event'
  topic: string
  onlyFor?: string | undefined
  /** Whether a `typing.stop` is the server's, because no other start came. */
  isTimedOut?: true | undefined
  /**
   * The number of the snapshot that an unread count was read from, for the version of the total.
   * Servers of earlier versions leave it out.
   */
  snapshot?: number | undefined
}

/** Events that are sent to all nodes and never stored. */
export type EphemeralNote =
  | EphemeralEvent
  /**
   * A user has a new name or image: their co-members are notified. Nodes of earlier versions give
   * it no version.
   */
  | { kind: 'profile'; appId: string; user: UserSummary; version?: number | undefined }
  /** A user's access changed other than by channel membership: recheck their subscriptions. */
  | { kind: 'rights'; appId: string; userId: string }
  /** Stored events of a topic no longer name a user: copies in memory are forgotten. */
  | { kind: 'rewritten'; topic: string }

export type EventBus = ReturnType<typeof createEventBus>

/** Connects publishers with listeners, so that publishers can be created before their listeners. */
export function createEventBus() {
  const listeners = new Set<EventPublisher>()
  const publisher: EventPublisher = {
    publish: (events) => {
      for (const listener of listeners) listener.publish(events)
    },
    broadcast: (note) => {
      for (const listener of listeners) listener.broadcast(note)
    },
  }
  const subscribe = (listener: EventPublisher) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { publisher, subscribe }
}
