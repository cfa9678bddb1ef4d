import type { WebSocket } from 'ws'
import type { Claims, Tokens } from '../core/tokens.ts'
import type { Hub } from './hub.ts'
import type { Session } from './sessions.ts'
import type { Timings } from './timings.ts'
import type { WriteBuffer } from './write-buffer.ts'

/** What a connection needs of the node it is on. */
export type RealtimeNode = {
  hub: Hub
  writeBuffer: WriteBuffer
  tokens: Tokens
  timings: Timings
  nodeId: string
  report(error: unknown, problem: string): void
  /** Notes the session; answers with the generation that the user's tokens must have. */
  arrived(session: Session): Promise<number | undefined>
  left(session: Session): void
  generation(user: Pick<Claims, 'appId' | 'userId'>): Promise<number | undefined>
  /** The users connected to some node who are members of a channel, or a user's own connections. */
  connectedTo(topic: string): Promise<{ user: string; client: string }[]>
  terminateLater(socket: WebSocket): void
}
