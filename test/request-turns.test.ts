import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createRequestTurns } from '@parley/server/http/request-turns'
import { expect, onTestFinished, test } from 'vitest'
import { upTo } from './support/events.ts'
import { useWorld } from './support/world.ts'

const nextTurn = () => new Promise(setImmediate)

test('a turn begins requests for a moment, in order and each in its own context', async () => {
  let clock = 0
  const inTurn = createRequestTurns(() => clock)
  const begun: number[] = []
  const storage = new AsyncLocalStorage<number>()
  const ask = (n: number): void =>
    storage.run(n, () =>
      inTurn(() => {
        expect(storage.getStore()).toBe(n)
        begun.push(n)
        // The next request of the same connection comes behind those that wait.
        if (n === 3) ask(8)
        clock += 1
      }),
    )
  for (const n of upTo(7)) ask(n)
  expect(begun).toEqual([1, 2])
  await nextTurn()
  ask(9)
  expect(begun).toEqual([1, 2, 3, 4])
  await nextTurn()
  expect(begun).toEqual([1, 2, 3, 4, 5, 6])
  await nextTurn()
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  await nextTurn()
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  await nextTurn()
  await nextTurn()
  ask(10)
  expect(begun).toHaveLength(10)
})

const world = useWorld()
const REQUEST = 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n'
const AT_ONCE = 60
const FLOODS = 20
const NEWCOMERS = 30

test('others connect while a few connections send as many requests as they can', async () => {
  const { hostname, port } = new URL(world().url)
  let isOver = false
  let answers = 0
  const open = () => {
    const socket = connect(Number(port), hostname).setEncoding('latin1')
    onTestFinished(() => void socket.destroy())
    return socket
  }
  const flooding = upTo(FLOODS).map(async () => {
    const socket = open()
    let unread = 0
    socket.on('data', (text) => {
      const count = String(text).split('HTTP/1.1 404').length - 1
      answers += count
      unread -= count
      if (unread > 0 || isOver) return
      unread = AT_ONCE
      socket.write(REQUEST.repeat(AT_ONCE))
    })
    socket.write(REQUEST)
    unread = 1
    await once(socket, 'data')
  })
  await Promise.all(flooding)
  const before = answers
  const newcomers = upTo(NEWCOMERS).map(async () => {
    const socket = open()
    socket.write(REQUEST)
    await once(socket, 'data')
  })
  await Promise.all(newcomers)
  isOver = true
  // If a turn answered all requests, each newcomer would wait for 1,200 others.
  expect(answers - before).toBeLessThan((NEWCOMERS * FLOODS * AT_ONCE) / 4)
})
