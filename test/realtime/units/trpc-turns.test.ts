import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { closings } from '@parley/server/realtime/protocol/codes'
import { UserSockets } from '@parley/server/realtime/sockets/user-sockets'
import { TrpcSocket } from '@parley/server/realtime/trpc/socket'
import { expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { createNode, createSocket } from './fixture.ts'

type Message = { id: number }

/** Accepted tRPC sockets of a node, and what their adapter has got, in order. */
async function createSockets() {
  const handled: { appId: string; id: number }[] = []
  const passed: string[] = []
  const closed: number[] = []
  const { node, holdVerification } = await createNode()
  node.userSockets = new UserSockets({ user: 100 })
  const open = async (appId: string, early?: unknown) => {
    const close = (code: number) => void closed.push(code)
    const bare = Object.assign(new EventEmitter(), createSocket().socket, { close })
    const trpc = new TrpcSocket(bare as unknown as WebSocket, node) // only the parts that it uses
    const send = (frame: unknown) => void bare.emit('message', Buffer.from(toText(frame)), false)
    send('the token')
    if (early) send(early)
    await trpc.authenticate(`ana@${appId}`)
    trpc.on('message', (data: Buffer) => {
      passed.push(String(data))
      for (const { id } of messagesOf(String(data))) handled.push({ appId, id })
    })
    return { send, close: () => void bare.emit('close') }
  }
  return { handled, passed, closed, open, holdVerification }
}
const messagesOf = (text: string): Message[] => (/"id"/.test(text) ? [JSON.parse(text)].flat() : [])
const toText = (frame: unknown) => (typeof frame === 'string' ? frame : JSON.stringify(frame))
const batch = (count: number) =>
  Array.from({ length: count }, (_, id) => ({
    id,
    method: 'subscription',
    params: { path: 'events.topic', input: { topic: 'user:a:ana' } },
  }))

test.each([
  { sockets: 1, messages: 1_000 },
  { sockets: 50, messages: 500 },
])(
  'a turn of the event loop takes few messages of $sockets tRPC sockets',
  async ({ sockets, messages }) => {
    const { handled, open } = await createSockets()
    const all = await Promise.all(Array.from({ length: sockets }, () => open('loud')))
    await nextTurn()
    for (const { send } of all) send(batch(messages))
    const ofTurns = [handled.length]
    for (let before = handled.length; before < sockets * messages; before = handled.length) {
      await nextTurn()
      ofTurns.push(handled.length - before)
    }
    expect(Math.max(...ofTurns)).toBeLessThanOrEqual(13)
  },
)

test('batches of many tRPC sockets of an app do not keep those of another waiting', async () => {
  const { handled, open } = await createSockets()
  const many = await Promise.all(Array.from({ length: 50 }, () => open('loud')))
  const { send } = await open('quiet')
  for (const loud of many) loud.send(batch(500))
  send(batch(1))
  while (!handled.some(({ appId }) => appId === 'quiet')) await nextTurn()
  expect(handled.length).toBeLessThanOrEqual(26)
})

test('one turn of the event loop handles one large tRPC message, of whichever socket', async () => {
  const { handled, open } = await createSockets()
  const all = await Promise.all(Array.from({ length: 10 }, () => open('loud')))
  await nextTurn()
  for (const { send } of all) send({ id: 1, text: 'x'.repeat(500_000) })
  const ofTurns = [handled.length]
  for (let before = handled.length; before < all.length; before = handled.length) {
    await nextTurn()
    ofTurns.push(handled.length - before)
  }
  expect(Math.max(...ofTurns)).toBe(1)
})

test('frames of tRPC sockets whose tokens are verified at once are handled in turn', async () => {
  const { closed, open, holdVerification } = await createSockets()
  const verify = holdVerification()
  // Each has more objects than the credit of a socket allows.
  const early = `[${'{},'.repeat(10_000)}{}]`
  const opening = Array.from({ length: 20 }, () => open('loud', early))
  verify()
  await Promise.all(opening)
  const ofTurns = [closed.length]
  for (let before = closed.length; before < opening.length; before = closed.length) {
    await nextTurn()
    ofTurns.push(closed.length - before)
  }
  expect(Math.max(...ofTurns)).toBe(1)
})

test('messages of a tRPC socket are handled in the order that they were sent in', async () => {
  const { handled, open } = await createSockets()
  const { send } = await open('app')
  await nextTurn()
  send(batch(300))
  send({ id: 300 })
  send(batch(302).slice(301))
  while (handled.length < 302) await nextTurn()
  expect(handled.map(({ id }) => id)).toEqual(Array.from({ length: 302 }, (_, id) => id))
})

test('a batch with one malformed message is passed on as a whole', async () => {
  const { passed, open } = await createSockets()
  const { send } = await open('app')
  await nextTurn()
  const frames = ['', '[', '[]', ' [1]', [...batch(2), { id: 2 }], batch(1_001)].map(toText)
  for (const frame of frames) {
    send(frame)
    await nextTurn()
  }
  expect(passed).toEqual(frames)
})

test('a batch of too many numbers is passed on only as far as it takes to refuse it', async () => {
  const { passed, open } = await createSockets()
  const { send } = await open('app')
  await nextTurn()
  send(`[${'1,'.repeat(400_000)}{"id":7}]`)
  await nextTurn()
  expect(passed.map((frame) => JSON.parse(frame))).toEqual([[{ id: 7 }, ...Array(1_000).fill(0)]])
})

test('a closed tRPC socket drops the commands that still wait', async () => {
  const { handled, open } = await createSockets()
  const { send, close } = await open('app')
  await nextTurn()
  send(batch(500))
  close()
  await nextTurn()
  await nextTurn()
  expect(handled.length).toBeLessThanOrEqual(13)
})

test('the waiting bytes of a tRPC socket are at most those of a frame', async () => {
  const { closed, open } = await createSockets()
  const { send } = await open('app')
  await nextTurn()
  // The first takes all of a turn.
  for (const bytes of [300_000, 600_000]) send('x'.repeat(bytes))
  for (let count = 0; count < 100; count++) send('x')
  expect(closed).toEqual([])
  send('x'.repeat(450_000))
  expect(closed).toEqual([closings.badRequest.code])
})
