import type { UserSummary } from '@parley/contract'
import type { StoredEvent } from './event-buffer.ts'

/** Where news goes once it is committed. Nothing here is waited for, and nothing here can fail an operation. */
export type Outlet = { publish(events: StoredEvent[]): void; signal(signal: Signal): void }

/** What all nodes are told and nobody stores. */
export type Signal =
  /** An ephemeral event of a topic; for the subscriptions of one user only, if that is said. */
  | { kind: 'event'; topic: string; envelope: string; onlyFor?: string | undefined }
  /** A user has a new name or image: those who share a channel with him hear of it. */
  | { kind: 'profile'; appId: string; user: UserSummary }
  /** What a user may read has changed other than by membership: his subscriptions are judged anew. */
  | { kind: 'rights'; appId: string; userId: string }

export type Relay = ReturnType<typeof createRelay>

/** An outlet for those who are made before real time is: what they say reaches whoever has subscribed by then. */
export function createRelay() {
  const listeners = new Set<Outlet>()
  const outlet: Outlet = {
    publish: (events) => listeners.forEach((listener) => void listener.publish(events)),
    signal: (signal) => listeners.forEach((listener) => void listener.signal(signal)),
  }
  const subscribe = (listener: Outlet) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { outlet, subscribe }
}
