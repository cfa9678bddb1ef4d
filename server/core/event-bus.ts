import type { UserSummary } from '@parley/contract'
import type { StoredEvent } from './event-buffer.ts'

/** Where news goes once it is committed. Nothing here is waited for, and nothing here can fail an operation. */
export type EventPublisher = {
  publish(events: StoredEvent[]): void
  broadcast(signal: EphemeralNote): void
}

/** What all nodes are told and nobody stores. */
export type EphemeralNote =
  /** An ephemeral event of a topic; for the subscriptions of one user only, if that is said. */
  | { kind: 'event'; topic: string; envelope: string; onlyFor?: string | undefined }
  /** A user has a new name or image: those who share a channel with him hear of it. */
  | { kind: 'profile'; appId: string; user: UserSummary }
  /** What a user may read has changed other than by membership: his subscriptions are judged anew. */
  | { kind: 'rights'; appId: string; userId: string }

export type EventBus = ReturnType<typeof createEventBus>

/** An publisher for those who are made before real time is: what they say reaches whoever has subscribed by then. */
export function createEventBus() {
  const listeners = new Set<EventPublisher>()
  const publisher: EventPublisher = {
    publish: (events) => listeners.forEach((listener) => void listener.publish(events)),
    broadcast: (signal) => listeners.forEach((listener) => void listener.broadcast(signal)),
  }
  const subscribe = (listener: EventPublisher) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { publisher, subscribe }
}
