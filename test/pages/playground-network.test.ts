import { beforeEach, expect, test, vi } from 'vitest'
import { answerCalls, usePage } from './page.ts'
import { openSockets } from './sockets.ts'

usePage()
beforeEach(() => sessionStorage.clear())

test('calls and sockets fail only while the network is switched off', async () => {
  const opened = openSockets()
  vi.stubGlobal('window', new EventTarget())
  const calls = answerCalls(() => ({}))
  const { createNetwork } = await import('@parley/client/internal/playground/network')
  const network = createNetwork('ana')
  const states: boolean[] = []
  network.isUp.subscribe(() => states.push(network.isUp.getSnapshot()))
  await network.fetch('http://parley.test/a')
  const socket = new network.webSocket('ws://parley.test')
  const closes: number[] = []
  socket.onclose = ({ code }) => closes.push(code)
  network.switch(false)
  expect([closes, opened.map(({ isClosed }) => isClosed)]).toEqual([[1006], [true]])
  await expect(network.fetch('http://parley.test/b')).rejects.toThrow('the network is off')
  const failing = new network.webSocket('ws://parley.test')
  const failed = new Promise<number>((resolve) => {
    failing.onclose = ({ code }) => resolve(code)
  })
  expect([await failed, opened.length]).toEqual([1006, 1])
  expect(createNetwork('ana').isUp.getSnapshot()).toBe(false)
  expect(createNetwork('ben').isUp.getSnapshot()).toBe(true)
  let onlines = 0
  window.addEventListener('online', () => void onlines++)
  network.switch(true)
  await network.fetch('http://parley.test/c')
  new network.webSocket('ws://parley.test')
  expect(calls.map(({ path }) => path)).toEqual(['/a', '/c'])
  expect([onlines, opened.length, states]).toEqual([1, 2, [false, true]])
  expect(createNetwork('ana').isUp.getSnapshot()).toBe(true)
  expect(closes).toEqual([1006])
})

test('calls that run while the network goes off are aborted, and later ones are not', async () => {
  openSockets()
  vi.stubGlobal('window', new EventTarget())
  const signals: AbortSignal[] = []
  vi.stubGlobal('fetch', async (_: string, { signal }: { signal: AbortSignal }) => {
    signals.push(signal)
    return Response.json({})
  })
  const { createNetwork } = await import('@parley/client/internal/playground/network')
  const network = createNetwork('ana')
  const own = new AbortController()
  await network.fetch('http://parley.test/a', { signal: own.signal })
  await network.fetch('http://parley.test/b')
  own.abort()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  network.switch(false)
  network.switch(true)
  await network.fetch('http://parley.test/c')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
})
