import { setImmediate as nextTurn } from 'node:timers/promises'
import { handleCommands } from '@parley/server/realtime/connection/commands'
import { Connection } from '@parley/server/realtime/connection/index'
import { json } from '@parley/server/realtime/protocol/json'
import { UserSockets } from '@parley/server/realtime/sockets/user-sockets'
import { expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { createNode, createSocket } from './fixture.ts'

/** Sockets of a node, the apps whose commands it handles, in order, and how many it decodes. */
async function createSockets() {
  const handled: string[] = []
  const decoded = { count: 0 }
  const decode: typeof json.decode = (message) => {
    decoded.count += 1
    return json.decode(message)
  }
  const { node } = await createNode()
  node.userSockets = new UserSockets({ user: 100 })
  /** How to send commands on a socket of the user. */
  const create = () => {
    const connection = new Connection({
      socket: createSocket().socket as unknown as WebSocket, // only the parts that connections use
      codec: { ...json, decode },
      node,
      handle: async (connection, commands) => {
        handled.push(connection.appId)
        await handleCommands(connection, commands)
      },
    })
    const send = (...commands: object[]) => {
      const lines = commands.map((command) => JSON.stringify(command))
      connection.receive(Buffer.from(lines.join('\n')), false)
    }
    return { connection, send }
  }
  const stranger = () => create().send
  const open = async (token: string) => {
    const { connection, send } = create()
    send({ id: 1, connect: { token } })
    await vi.waitUntil(() => connection.stage === 'connected', { timeout: 30_000 })
    return send
  }
  return { handled, decoded, open, stranger }
}
const sends = (count: number) => Array.from({ length: count }, () => ({ send: {} }))

test.each([
  { sockets: 1, commands: 2_000 },
  { sockets: 50, commands: 500 },
])(
  'a turn of the event loop takes few commands of $sockets sockets',
  async ({ sockets, commands }) => {
    const { handled, open } = await createSockets()
    const all = await Promise.all(Array.from({ length: sockets }, () => open('ana')))
    await nextTurn()
    handled.length = 0
    for (const send of all) send(...sends(commands))
    const ofTurns: number[] = []
    for (let before = 0; before < sockets * commands; before = handled.length) {
      await nextTurn()
      ofTurns.push(handled.length - before)
    }
    expect(Math.max(...ofTurns)).toBeLessThanOrEqual(20)
  },
)

test('commands of many sockets of an app do not keep those of another waiting', async () => {
  const { handled, decoded, open } = await createSockets()
  const many = await Promise.all(Array.from({ length: 50 }, () => open('ana@loud')))
  const send = await open('ana@quiet')
  handled.length = 0
  for (const sendMany of many) sendMany(...sends(500))
  await nextTurn()
  const before = decoded.count
  send(...sends(1))
  while (!handled.includes('quiet')) await nextTurn()
  expect(decoded.count - before).toBeLessThanOrEqual(40)
  await vi.waitUntil(() => handled.length === 25_001, { timeout: 60_000 })
})

test('sockets without a token keep no app waiting for more than its turn', async () => {
  const { handled, decoded, open, stranger } = await createSockets()
  const send = await open('ana@quiet')
  const strangers = Array.from({ length: 2_000 }, () => stranger())
  handled.length = 0
  decoded.count = 0
  for (const connect of strangers) connect({ id: 1, connect: { token: 'bob' } })
  send(...sends(1))
  while (!handled.includes('quiet')) await nextTurn()
  expect(decoded.count).toBeLessThanOrEqual(40)
})
