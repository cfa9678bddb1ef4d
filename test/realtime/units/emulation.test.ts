import { EventEmitter } from 'node:events'
import { createTokens } from '@parley/server/core/signed-tokens'
import type { NodeNote } from '@parley/server/realtime/broker/index'
import { Emulation } from '@parley/server/realtime/sockets/emulation'
import type { StreamSocket } from '@parley/server/realtime/sockets/stream-socket'
import { expect, test } from 'vitest'
import { stoppedClock } from '../../support/scripted/time.ts'
import { SECRET } from '../../support/secrets.ts'

/** A node with one session, and what it sends the others. */
async function createNode(nodeId: string) {
  const tokens = await createTokens([SECRET])
  const sent: NodeNote[] = []
  const resent: NodeNote[] = []
  const received: string[] = []
  const ended: unknown[] = []
  const emulation = new Emulation({
    nodeId,
    tokens,
    broker: { send: (note) => void sent.push(note), resend: (note) => void resent.push(note) },
    terminateLater: (socket) => void ended.push(socket),
  })
  const sessionId = tokens.newSessionId(nodeId)
  // These are only the parts of one that are used.
  const socket = Object.assign(new EventEmitter(), {
    sessionId,
    framesReceived: 0,
    received() {
      this.framesReceived += 1
    },
    close: (code: number) => void ended.push(code),
  }) as unknown as StreamSocket
  const receiver = { isOpen: true, receive: (frame: Buffer) => void received.push(String(frame)) }
  emulation.add(socket, receiver)
  const request = (data = '{}') => ({ sessionId, node: nodeId, data, isBinary: false })
  return { emulation, sent, resent, received, ended, socket, receiver, request }
}
const ADDRESS = '192.0.2.1'
const commandsIn = (sent: NodeNote[]) =>
  sent.flatMap((note) => (note.kind === 'commands' ? note : []))

test('requests of forged sessions are not passed to other nodes', async () => {
  const [here, there] = [await createNode('here'), await createNode('there')]
  const { sessionId, ...rest } = there.request()
  const made = `${sessionId.slice(0, -1)}${sessionId.endsWith('A') ? 'Q' : 'A'}`
  expect(
    await here.emulation.receive(
      { ...rest, sessionId: `${'x'.repeat(32)}${sessionId.slice(32)}` },
      ADDRESS,
    ),
  ).toBe('unknown')
  expect(
    await here.emulation.receive({ ...rest, sessionId: made.replace(/^./, '-') }, ADDRESS),
  ).toBe('unknown')
  expect(await here.emulation.receive({ ...rest, sessionId, node: 'third' }, ADDRESS)).toBe(
    'unknown',
  )
  expect(here.sent).toEqual([])
})

test('other spellings of the id of a session are refused', async () => {
  const [here, there] = [await createNode('here'), await createNode('there')]
  const { sessionId, ...rest } = there.request()
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  // The last digit says four bits: the three that follow it stand for the same bytes.
  const last = digits.indexOf(sessionId.slice(-1))
  const others = [1, 2, 3].map((step) => `${sessionId.slice(0, -1)}${digits[last + step]}`)
  for (const each of others) {
    expect(Buffer.from(each.slice(33), 'base64url')).toEqual(
      Buffer.from(sessionId.slice(33), 'base64url'),
    )
    expect(await here.emulation.receive({ ...rest, sessionId: each }, ADDRESS)).toBe('unknown')
  }
  expect(here.sent).toEqual([])
})

test('a session that its node no longer knows costs no second note', async () => {
  const [here, there] = [await createNode('here'), await createNode('there')]
  const answer = (isKnown: boolean) => {
    const [note] = commandsIn(here.sent.splice(0))
    if (note)
      here.emulation.handleAccepted({ kind: 'accepted', node: 'here', id: note.id, isKnown })
    return note !== undefined
  }
  for (const [isKnown, outcome] of [
    [true, 'accepted'],
    [true, 'accepted'],
    [false, 'unknown'],
  ] as const) {
    const received = here.emulation.receive(there.request(), ADDRESS)
    expect(answer(isKnown)).toBe(true)
    expect(await received).toBe(outcome)
  }
  expect(await here.emulation.receive(there.request(), ADDRESS)).toBe('unknown')
  expect(here.sent).toEqual([])
})

test('a note that arrives twice is carried out once, and only by the node it is for', async () => {
  const [here, there, third] = [
    await createNode('here'),
    await createNode('there'),
    await createNode('third'),
  ]
  const outcome = here.emulation.receive(there.request('hello'), ADDRESS)
  const [note] = commandsIn(here.sent)
  if (!note) throw new Error('expected a note')
  for (const each of [third, there, there]) each.emulation.handleCommands(note)
  expect([there.received, third.received, third.sent]).toEqual([['hello'], [], []])
  const [answer] = there.sent
  if (answer?.kind !== 'accepted') throw new Error('expected an answer')
  here.emulation.handleAccepted(answer)
  expect(await outcome).toBe('accepted')
})

test('a node that does not answer is taken for dead, and few requests wait for it', async () => {
  const clock = stoppedClock()
  const [here, there] = [await createNode('here'), await createNode('there')]
  const waiting = Array.from({ length: 32 }, () => here.emulation.receive(there.request(), ADDRESS))
  expect(await here.emulation.receive(there.request(), ADDRESS)).toBe('too many')
  await clock.forward(4_000)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unknown']))
  expect(clock.timers()).toBe(0)
})

test('the requests that wait for all other nodes together are bounded', async () => {
  const here = await createNode('here')
  const tokens = await createTokens([SECRET])
  const receive = (address: string) => {
    const sessionId = tokens.newSessionId('there')
    return here.emulation.receive({ sessionId, node: 'there', data: '', isBinary: false }, address)
  }
  const waiting = Array.from({ length: 5_000 }, (_, index) => receive(`192.0.2.${index % 4}`))
  expect(await receive('192.0.2.3')).toBe('too many')
  expect(await receive('192.0.2.4')).toBe('busy')
  for (const { id } of commandsIn(here.sent))
    here.emulation.handleAccepted({ kind: 'accepted', node: 'here', id, isKnown: false })
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['unknown']))
})

test('bytes on their way to another node are bounded, by session and in all', async () => {
  const [here, there] = [await createNode('here'), await createNode('there')]
  const half = 'x'.repeat(256 * 1024)
  for (const data of [half, half]) void here.emulation.receive(there.request(data), ADDRESS)
  expect(here.sent).toHaveLength(2)
  expect(await here.emulation.receive(there.request(), ADDRESS)).toBe('too many')
  const others = await Promise.all(Array.from({ length: 7 }, (_, index) => createNode(`${index}`)))
  for (const [index, other] of others.entries())
    void here.emulation.receive(other.request(half + half), `198.51.100.${index}`)
  expect(here.sent).toHaveLength(9)
  const late = (await createNode('late')).request()
  expect(await here.emulation.receive(late, '203.0.113.1')).toBe('busy')
  for (const { id } of commandsIn(here.sent))
    here.emulation.handleAccepted({ kind: 'accepted', node: 'here', id, isKnown: true })
  void here.emulation.receive(late, ADDRESS)
  expect(here.sent).toHaveLength(10)
})

test('one network may fill a quarter of the bytes under way to other nodes', async () => {
  const here = await createNode('here')
  const half = 'x'.repeat(512 * 1024)
  const tokens = await createTokens([SECRET])
  const receive = (address: string) => {
    const sessionId = tokens.newSessionId('dead')
    return here.emulation.receive({ sessionId, node: 'dead', data: half, isBinary: false }, address)
  }
  void receive('2001:db8:1:1::1')
  void receive('2001:db8:1:1::2')
  expect(here.sent).toHaveLength(2)
  expect(await receive('2001:db8:1:1::3')).toBe('too many')
  expect(here.sent).toHaveLength(2)
  void receive('2001:db8:1:2::1')
  expect(here.sent).toHaveLength(3)
  for (const { id } of commandsIn(here.sent))
    here.emulation.handleAccepted({ kind: 'accepted', node: 'here', id, isKnown: true })
  void receive('2001:db8:1:1::3')
  expect(here.sent).toHaveLength(4)
})

test('a stream that has ended is no socket of its node, and its session unknown', async () => {
  const { emulation, received, socket, receiver, request } = await createNode('here')
  expect(await emulation.receive(request('one'), ADDRESS)).toBe('accepted')
  receiver.isOpen = false
  expect(await emulation.receive(request('two'), ADDRESS)).toBe('unknown')
  receiver.isOpen = true
  expect([...emulation.sockets]).toEqual([socket])
  socket.emit('close')
  expect([...emulation.sockets]).toEqual([])
  expect(await emulation.receive(request('three'), ADDRESS)).toBe('unknown')
  expect([received, socket.framesReceived]).toEqual([['one'], 1])
})

test('the streams of a node that stops are ended, and cut if they stay', async () => {
  const { emulation, ended, socket } = await createNode('here')
  emulation.close()
  expect(ended).toEqual([3001, socket])
})

test('an answer settles its request, without a timer, if it is for this node', async () => {
  const clock = stoppedClock()
  const [here, there] = [await createNode('here'), await createNode('there')]
  const outcome = here.emulation.receive(there.request(), ADDRESS)
  const [note] = commandsIn(here.sent)
  if (!note) throw new Error('expected a note')
  const answer = { kind: 'accepted', id: note.id } as const
  here.emulation.handleAccepted({ ...answer, node: 'third', isKnown: false })
  here.emulation.handleAccepted({ ...answer, node: 'here', isKnown: true })
  expect([await outcome, clock.timers()]).toEqual(['accepted', 0])
})

test('many notes of other nodes are remembered, each in case it arrives twice', async () => {
  const [here, there] = [await createNode('here'), await createNode('there')]
  for (const data of ['one', 'two', 'three'])
    void here.emulation.receive(there.request(data), ADDRESS)
  const notes = commandsIn(here.sent)
  for (const note of [...notes, ...notes]) there.emulation.handleCommands(note)
  expect(there.received).toEqual(['one', 'two', 'three'])
})

test('an unanswered request is sent again by the other broker, and carried out once', async () => {
  const clock = stoppedClock()
  const [here, there] = [await createNode('here'), await createNode('there')]
  const outcome = here.emulation.receive(there.request('one'), ADDRESS)
  await clock.forward(1_000)
  expect(here.resent).toEqual(here.sent)
  const [note, again] = commandsIn([...here.sent, ...here.resent])
  if (!note || !again) throw new Error('expected two notes')
  for (const each of [note, again]) there.emulation.handleCommands(each)
  expect(there.received).toEqual(['one'])
  here.emulation.handleAccepted({ kind: 'accepted', node: 'here', id: note.id, isKnown: true })
  expect([await outcome, clock.timers()]).toEqual(['accepted', 0])
})
