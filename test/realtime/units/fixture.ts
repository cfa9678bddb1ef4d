import { createMetrics } from '@parley/server/core/metrics'
import { CommandTurns } from '@parley/server/realtime/connection/command-turns'
import { handleCommands } from '@parley/server/realtime/connection/commands'
import { Connection } from '@parley/server/realtime/connection/index'
import type { RealtimeNode } from '@parley/server/realtime/node'
import { json } from '@parley/server/realtime/protocol/json'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { SendMemory } from '@parley/server/realtime/sockets/send-memory'
import { UserSockets } from '@parley/server/realtime/sockets/user-sockets'
import { WriteBuffer } from '@parley/server/realtime/sockets/write-buffer'
import { timings as defaults } from '@parley/server/realtime/timings'
import type { WebSocket } from 'ws'
import { appId, openHub, pass } from '../hub/fixture.ts'

export const ana = { appId, userId: 'ana' }

/** Keeps what it was written and how it was closed. Nothing is read until a test says so. */
export function createSocket() {
  const written: (Buffer | string)[] = []
  const closed: number[] = []
  const socket = {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    send: (frame: Buffer | string, { binary = true } = {}) =>
      void written.push(binary ? frame : String(frame)),
    close: (code: number) => {
      socket.readyState = 2
      closed.push(code)
    },
  }
  return { socket, written, closed }
}

type NodeOptions = { timings?: Partial<typeof defaults> }

/**
 * A node on a log in memory, which allows each user one socket. A token is the name of its user.
 */
export async function createNode({ timings = {} }: NodeOptions = {}) {
  const { hub, memory } = await openHub()
  const sessions = new Sessions()
  const problems: string[] = []
  const terminated: unknown[] = []
  const connected: { user: string; client: string }[] = []
  const verification = { done: Promise.resolve() }
  const node = {
    hub,
    nodeId: 'node',
    timings: { ...defaults, ...timings },
    commandTurns: new CommandTurns(),
    writeBuffer: new WriteBuffer(),
    sendMemory: new SendMemory({ mostBytes: 2 ** 28, metrics: createMetrics(), sockets: () => [] }),
    userSockets: new UserSockets({ user: 1 }),
    tokens: {
      verify: async (_: string, token: string) => {
        await verification.done
        const [userId, app = appId] = token.split('@')
        return { appId: app, userId, generation: 0, expiresAt: Date.now() / 1_000 + 60 }
      },
    },
    report: (_: unknown, problem: string) => void problems.push(problem),
    generation: async () => 0,
    register: async (session: Session) => {
      sessions.add(session)
      return 0
    },
    unregister: (session: Session) => void sessions.remove(session),
    subscribed: () => {},
    clientsOf: async () => connected,
    admit: <T>(_: unknown, work: () => Promise<T>) => work(),
    terminateLater: (socket: unknown) => void terminated.push(socket),
  } as unknown as RealtimeNode // only the parts that connections use
  return {
    node,
    hub,
    memory,
    sessions,
    problems,
    terminated,
    connected,
    /** From now on tokens are verified when the function is called that this returns. */
    holdVerification: () => {
      let release = () => {}
      verification.done = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
  }
}

/** A connection on such a node, and what its client is sent. */
export async function openConnection({
  handle = handleCommands,
  ...options
}: NodeOptions & { handle?: typeof handleCommands } = {}) {
  const parts = await createNode(options)
  const { socket, written, closed } = createSocket()
  const connection = new Connection({
    socket: socket as unknown as WebSocket, // only the parts that connections use
    codec: json,
    node: parts.node,
    handle,
  })
  const messages = () =>
    written.flatMap((frame) =>
      String(frame)
        .split('\n')
        .map((line) => JSON.parse(line)),
    )
  const send = async (...commands: object[]) => {
    const lines = commands.map((command) => JSON.stringify(command))
    connection.receive(Buffer.from(lines.join('\n')), false)
    await pass()
  }
  const connect = () => send({ id: 1, connect: { token: 'ana' } })
  /** The reply to a command. */
  const ask = async (command: { id: number } & Record<string, unknown>) => {
    await send(command)
    return messages().find(({ id }) => id === command.id)
  }
  return { ...parts, connection, socket, written, closed, messages, send, connect, ask }
}

/** An event with its hint, of which only the length matters. */
export const eventOf = (envelope: string) => ({
  type: 'message.new' as const,
  envelope,
  messageId: null,
  at: 0,
})
