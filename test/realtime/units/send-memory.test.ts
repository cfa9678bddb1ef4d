import { createMetrics } from '@parley/server/core/metrics'
import { SendMemory } from '@parley/server/realtime/sockets/send-memory'
import { expect, test } from 'vitest'
import type { WebSocket } from 'ws'

const ROOM = 1_000

/** A socket that keeps what it is sent until it is read, or until it is cut. */
function createSlowSocket() {
  const unread: { frame: Buffer; written: () => void }[] = []
  const readAll = () => {
    for (const { written } of unread.splice(0)) written()
  }
  const socket = {
    isCut: false,
    get bufferedAmount() {
      return unread.reduce((sum, { frame }) => sum + frame.length, 0)
    },
    send: (frame: Buffer, _: object, written: () => void) => void unread.push({ frame, written }),
    terminate: () => {
      socket.isCut = true
      readAll()
    },
  }
  return { socket: socket as typeof socket & WebSocket, readAll }
}

function openMemory(count: number) {
  const slow = Array.from({ length: count }, createSlowSocket)
  const metrics = createMetrics()
  const sockets = slow.map(({ socket }) => socket)
  const memory = new SendMemory({ mostBytes: ROOM, metrics, sockets: () => sockets })
  return {
    slow,
    send: (index: number, frame: Buffer) => {
      const { socket } = slow[index] ?? createSlowSocket()
      memory.send(socket, frame, { isBinary: true })
    },
    cut: async () => {
      await new Promise(setImmediate)
      return sockets.flatMap(({ isCut }, index) => (isCut ? [index] : []))
    },
    counted: async () => (await metrics.sendMemory.get()).values[0]?.value,
  }
}

test('a frame that many sockets share counts once, until the last of them has it', async () => {
  const { slow, send, cut, counted } = openMemory(5)
  const [frame, other] = [Buffer.alloc(900), Buffer.alloc(50)]
  for (const index of slow.keys()) send(index, frame)
  send(0, other)
  send(1, frame)
  expect(await counted()).toBe(950)
  expect(await cut()).toEqual([])
  for (const { readAll } of slow.slice(0, 4)) readAll()
  expect(await counted()).toBe(900)
  slow[4]?.readAll()
  expect(await counted()).toBe(0)
  send(4, frame)
  expect(await counted()).toBe(900)
})

test('with too much unread the fullest sockets are cut, and no more than needed', async () => {
  const { send, cut, counted } = openMemory(4)
  for (const [index, size] of [10, 500, 400, 300].entries()) send(index, Buffer.alloc(size))
  expect(await cut()).toEqual([1])
  expect(await counted()).toBe(710)
})

test('frames that are read before the end of the turn cut no socket', async () => {
  const { slow, send, cut } = openMemory(3)
  for (const index of slow.keys()) send(index, Buffer.alloc(600))
  slow[0]?.readAll()
  slow[1]?.readAll()
  expect(await cut()).toEqual([])
})

test('slow sockets are cut as often as there is too much', async () => {
  const { send, cut } = openMemory(2)
  send(0, Buffer.alloc(ROOM + 1))
  expect(await cut()).toEqual([0])
  send(1, Buffer.alloc(ROOM + 1))
  expect(await cut()).toEqual([0, 1])
})
