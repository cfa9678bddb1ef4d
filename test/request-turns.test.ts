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
  const askedFor: number[] = []
  const storage = new AsyncLocalStorage<number>()
  const ask = (n: number): void =>
    storage.run(n, () =>
      inTurn(
        () => {
          askedFor.push(n)
          return 'app'
        },
        () => {
          expect(storage.getStore()).toBe(n)
          begun.push(n)
          // The next request of the same connection comes behind those that wait.
          if (n === 3) ask(8)
          clock += 1
        },
      ),
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
  // Whose they are is looked up for those that had to wait.
  expect(askedFor).toEqual([3, 4, 5, 6, 7, 8, 9])
})

test('of waiting requests apps alternate, however many one of them has', async () => {
  let clock = 0
  const inTurn = createRequestTurns(() => clock)
  const begun: string[] = []
  const ask = (app: string, n: number) =>
    inTurn(
      () => app,
      () => {
        begun.push(`${app} ${n}`)
        clock += 1
      },
    )
  for (const n of upTo(5)) ask('large', n)
  for (const n of upTo(2)) ask('small', n)
  for (let turn = 0; turn < 4; turn++) await nextTurn()
  const afterFirst = ['large 3', 'small 1', 'large 4', 'small 2', 'large 5']
  expect(begun).toEqual(['large 1', 'large 2', ...afterFirst])
})

const world = useWorld()
const REQUEST = 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n'
const AT_ONCE = 60
const FLOODS = 20
const NEWCOMERS = 30
const STRANGERS = 300

/** Some connections with as many requests as they can pipeline, and how many were answered. */
async function flood() {
  let isOver = false
  let answers = 0
  onTestFinished(() => {
    isOver = true
  })
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
  return () => answers
}
const open = (localAddress = '127.0.0.1') => {
  const { hostname, port } = new URL(world().url)
  const socket = connect({ port: Number(port), host: hostname, localAddress })
  socket.setEncoding('latin1')
  onTestFinished(() => void socket.destroy())
  return socket
}
/** A connection that the server has accepted. */
const accepted = async (localAddress?: string) => {
  const socket = open(localAddress)
  socket.write(REQUEST)
  await once(socket, 'data')
  return socket
}
/** What each would wait for if a turn answered all requests, or began them as they arrived. */
const ALL = FLOODS * AT_ONCE

test('others connect while a few connections send as many requests as they can', async () => {
  const answers = await flood()
  const before = answers()
  const newcomers = upTo(NEWCOMERS).map(() => accepted())
  await Promise.all(newcomers)
  expect(answers() - before).toBeLessThan((NEWCOMERS * ALL) / 4)
})

/** How many of many strangers are answered before a call that is sent after theirs. */
async function answeredBefore(call: () => Promise<void>, request = REQUEST) {
  const strangers = await Promise.all(upTo(STRANGERS).map(() => accepted()))
  let answers = 0
  for (const stranger of strangers) {
    stranger.on('data', () => answers++)
    stranger.write(request)
  }
  await call()
  return answers
}
/** Those that a turn had begun before the call arrived, and of those after it every other one. */
const FEW = STRANGERS / 2

test.for(['token', 'API key'])('strangers do not delay a call with a known %s', async (kind) => {
  const { token } = await world().user('ana')
  const caller = await accepted()
  const call = async (blanks: string) => {
    const bearer = `Authorization: Bearer${blanks}${token}`
    const credentials = kind === 'token' ? bearer : `X-API-Key:${blanks}${world().apiKey}`
    caller.write(`GET /api/channels?limit=none HTTP/1.1\r\nHost: x\r\n${credentials}\r\n\r\n`)
    const [answer] = await once(caller, 'data')
    expect(answer).toContain('HTTP/1.1 400')
  }
  // The same credentials in another spelling.
  await call('   ')
  expect(await answeredBefore(() => call(' '))).toBeLessThan(FEW)
})

test.each(['', 'guessed'])(
  'strangers with the token "%s" wait for others of their network only',
  async (token) => {
    const authorization = `Bearer ${token}`
    // The token is not what such a call is known by.
    const headers = { authorization, 'x-api-key': world().apiKey }
    expect((await fetch(`${world().url}/tokens`, { method: 'POST', headers })).status).toBe(400)
    const request = REQUEST.replace('\r\n\r\n', `\r\nAuthorization: ${authorization}\r\n\r\n`)
    const caller = await accepted('127.0.0.2')
    const call = async () => {
      caller.write(request)
      await once(caller, 'data')
    }
    expect(await answeredBefore(call, request)).toBeLessThan(FEW)
  },
)
