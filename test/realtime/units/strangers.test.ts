import { EventEmitter } from 'node:events'
import { limits } from '@parley/contract'
import { jsonLines } from '@parley/server/realtime/protocol/json'
import { CountedSocket, identify } from '@parley/server/realtime/sockets/counted-socket'
import { Strangers } from '@parley/server/realtime/sockets/strangers'
import { StreamSocket } from '@parley/server/realtime/sockets/stream-socket'
import { expect, test, vi } from 'vitest'

const { strangersBytes, frameBytes } = limits.realtime

/** Sockets that send bytes before their token is verified, and those of them that were cut. */
function openStrangers() {
  const strangers = new Strangers()
  const cut: number[] = []
  let opened = 0
  const open = () => {
    const number = ++opened
    const [stream, events] = [new EventEmitter(), new EventEmitter()]
    const terminate = () => {
      cut.push(number)
      events.emit('close')
    }
    const socket = Object.assign(events, { onOwned: () => {}, terminate })
    // These are only the parts that this class uses.
    strangers.add(socket as unknown as CountedSocket, stream as never)
    const send = (length: number) => void stream.emit('data', { length })
    const [accept, close] = [() => socket.onOwned(), () => void events.emit('close')]
    return { send, accept, close, stream, socket }
  }
  return { open, cut }
}

test('unauthenticated sockets share a budget, and the oldest beyond it are cut', () => {
  const { open, cut } = openStrangers()
  const many = Array.from({ length: strangersBytes / frameBytes }, open)
  for (const { send } of many) send(frameBytes)
  expect(cut).toEqual([1])
  open().send(2 * frameBytes)
  expect(cut).toEqual([1, 2, 3])
})

test('a socket whose token was verified, or that has ended, takes none of the budget', () => {
  const { open, cut } = openStrangers()
  const [user, gone] = [open(), open()]
  for (const { send } of [user, gone]) send(strangersBytes / 3)
  user.accept()
  gone.close()
  for (const { send } of [user, gone]) send(2 * strangersBytes)
  open().send(strangersBytes - 2 * frameBytes)
  expect(cut).toEqual([])
  expect([user, gone].map(({ stream }) => stream.listenerCount('data'))).toEqual([0, 0])
  expect([user, gone].map(({ socket }) => socket.listenerCount('close'))).toEqual([0, 0])
})

test('sockets that send nothing take some of the budget too', () => {
  const { open, cut } = openStrangers()
  for (let count = 0; count <= strangersBytes / 8_192; count++) open()
  expect(cut).toEqual([1])
})

test('streams share the budget with WebSockets, until their user is known', () => {
  const strangers = new Strangers()
  const open = () => {
    const destroy = vi.fn()
    const response = Object.assign(new EventEmitter(), { destroy })
    // These are only the parts that a stream uses before its user is known.
    const options = { response: response as never, codec: jsonLines, sessionId: '' }
    const socket = new StreamSocket({ ...options, transport: 'http_stream' })
    strangers.add(socket, socket)
    return { socket, destroy }
  }
  const [user, oldest, last] = [open(), open(), open()]
  const half = Buffer.alloc(strangersBytes / 2)
  user.socket.received(half)
  identify(user.socket, { appId: 'app', userId: 'ana' })
  for (const { socket } of [oldest, last]) socket.received(half)
  expect([user, oldest, last].map(({ destroy }) => destroy.mock.calls.length)).toEqual([0, 1, 0])
})

test('a socket no longer counts as unauthenticated once its user is known', () => {
  // `ws` creates sockets like this for connections that it has accepted.
  const socket = new CountedSocket(...([null, undefined, {}] as unknown as [null]))
  const onOwned = vi.fn()
  socket.onOwned = onOwned
  identify(socket, { appId: 'app', userId: 'ana' })
  expect([socket.user, onOwned.mock.calls.length]).toEqual([{ appId: 'app', userId: 'ana' }, 1])
})
