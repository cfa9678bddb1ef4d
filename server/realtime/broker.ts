import type { UserSummary } from '@parley/contract'
import type { EphemeralNote } from '../core/event-bus.ts'
import type { Revoked } from '../core/revocations.ts'

/**
 * What nodes tell each other. Any of it may be lost, doubled or reordered: durable events are hinted at only, and read
 * from the log; the rest is worth nothing later.
 */
export type Note =
  /** A durable event is stored. `change` is what it means for counts and lists of users who are connected elsewhere. */
  | { kind: 'hint'; topic: string; offset: number; change?: Change | undefined }
  | EphemeralNote
  /** Credentials that are void: caches forget them, sockets are closed. */
  | { kind: 'revoked'; revoked: Revoked }
  | {
      kind: 'presence'
      appId: string
      userId: string
      isOnline: boolean
      lastActiveAt: string | null
    }

/** An event that changes what users are told in their own topics; `userId`: who wrote, joined or left. */
export type Change = {
  type:
    | 'message.new'
    | 'message.deleted'
    | 'channel.member_joined'
    | 'channel.member_left'
    | 'channel.updated'
    | 'channel.deleted'
  userId?: string
}
export type Hint = Extract<Note, { kind: 'hint' }>
export type Presence = Extract<Note, { kind: 'presence' }>
export type Profile = { appId: string; user: UserSummary }

/** Carries notes between the nodes of one database. A node does not hear its own. */
export interface Broker {
  /** `onGap` is told whenever notes may have been missed. */
  start(listener: { onNote(note: Note): void; onGap(): void }): Promise<void>
  send(note: Note): void
  stop(): Promise<void>
}
