import type { Claims, Tokens } from '../core/signed-tokens.ts'
import type { CommandTurns } from './connection/command-turns.ts'
import type { Hub } from './hub.ts'
import type { Session } from './sessions.ts'
import type { Emulation } from './sockets/emulation.ts'
import type { SendMemory } from './sockets/send-memory.ts'
import type { Transport } from './sockets/transport.ts'
import type { UserSockets } from './sockets/user-sockets.ts'
import type { WriteBuffer } from './sockets/write-buffer.ts'
import type { Client } from './subscriber-survey.ts'
import type { Timings } from './timings.ts'

/** The parts of a node that its connections use. */
export type RealtimeNode = {
  hub: Hub
  emulation: Emulation
  /** The turns in which connections decode and handle their commands. */
  commandTurns: CommandTurns
  writeBuffer: WriteBuffer
  sendMemory: SendMemory
  tokens: Tokens
  timings: Timings
  userSockets: UserSockets
  nodeId: string
  report(error: unknown, problem: string): void
  /** Registers the session. Resolves to the generation that the user's tokens must have. */
  register(session: Session): Promise<number | undefined>
  unregister(session: Session): void
  /** Notes that the session is about to receive the events of the topic. */
  subscribed(session: Session, topic: string): void
  /** Runs the work of a session on the database, once its user's turn has come. */
  admit<T>(user: Pick<Session, 'appId' | 'userId'>, work: () => Promise<T>): Promise<T>
  generation(user: Pick<Claims, 'appId' | 'userId'>): Promise<number | undefined>
  /** The subscriptions of a topic on all nodes. */
  clientsOf(topic: string): Promise<Client[]>
  terminateLater(transport: Transport): void
}
