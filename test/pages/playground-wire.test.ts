import type { OutboxOperation, OutboxStorage } from '@parley/client'
import type { WireEntry } from '@parley/client/internal/playground/wire-log'
import { act, createElement } from 'react'
import { expect, test, vi } from 'vitest'
import { usePage } from './page.ts'
import { NodeCloseEvent, openSockets } from './sockets.ts'

const page = usePage()

async function createLog() {
  const { createWireLog } = await import('@parley/client/internal/playground/wire-log')
  const log = createWireLog()
  const linesOf = () =>
    log.entries
      .getSnapshot()
      .map(({ kind, name, detail, outcome }) => [kind, name, detail ?? outcome?.text])
  return { log, linesOf, recorder: log.recorderOf('ana') }
}

test('the log keeps the last 500 entries, and changes those that end', async () => {
  const { log, recorder } = await createLog()
  const ends = Array.from({ length: 501 }, (_, n) =>
    recorder.add({ kind: 'call', name: String(n) }),
  )
  const outcome = { isGood: true, text: '200' }
  ends[1]?.({ outcome })
  ends[0]?.({ outcome })
  const entries = log.entries.getSnapshot()
  expect([entries.length, entries[0]?.name, entries.at(-1)?.name]).toEqual([500, '1', '500'])
  expect(entries.filter((entry) => entry.outcome).map(({ key }) => key)).toEqual([1])
  log.clear()
  expect(log.entries.getSnapshot()).toEqual([])
})

test('entries are found by their kind, and by any text in them', async () => {
  const { filterEntries } = await import('@parley/client/internal/playground/wire-filter')
  const entry = (key: number, more: Partial<WireEntry>): WireEntry => ({
    ...{ key, kind: 'call', userId: 'ana', at: 0, name: 'GET /api', ...more },
  })
  const entries = [
    entry(0, { outcome: { isGood: false, text: 'Aborted' } }),
    entry(1, { kind: 'event', userId: 'ben', detail: 'Topic' }),
    entry(2, { kind: 'outbox', payload: { text: 'Soup' } }),
  ]
  const found = (text: string, hidden: WireEntry['kind'][] = []) =>
    filterEntries(entries, { hidden, text }).map(({ key }) => key)
  expect([found(''), found(' '), found('', ['call', 'event'])]).toEqual([[0, 1, 2], [0, 1, 2], [2]])
  expect(['aborted', 'BEN', 'topic ', 'soup', 'none'].map((text) => found(text))).toEqual([
    ...[[0], [1], [1], [2], []],
  ])
  expect(found('soup', ['outbox'])).toEqual([])
})

test('what enters and leaves the outbox is recorded', async () => {
  const { recordOutbox } = await import('@parley/client/internal/playground/wire-outbox')
  const { linesOf, recorder } = await createLog()
  // As far as it is used.
  const of = (clientId: string, more: object) => ({ clientId, ...more }) as OutboxOperation
  const kept = [of('a', { text: 'kept' })]
  const deleted: string[] = []
  const storage = { load: async () => kept, put: async () => {} } as Partial<OutboxStorage>
  storage.delete = async (_, clientId) => void deleted.push(clientId)
  const recorded = recordOutbox(storage as OutboxStorage, recorder) // as much as is used
  expect(await recorded.load('ana')).toBe(kept)
  await recorded.put('ana', of('b', { type: 'react', emoji: '🎉' }))
  await recorded.put('ana', of('c', { text: '', failure: { code: 'FORBIDDEN' } }))
  for (const clientId of ['a', 'b', 'b', 'x']) await recorded.delete('ana', clientId)
  expect(linesOf()).toEqual([
    ['outbox', 'loaded', 'kept'],
    ['outbox', 'queued', 'react 🎉'],
    ['outbox', 'refused', 'send'],
    ['outbox', 'removed', 'kept'],
    ['outbox', 'removed', 'react 🎉'],
  ])
  expect(deleted).toEqual(['a', 'b', 'b', 'x'])
})

test('calls are recorded with how they ended, but not those in place of a socket', async () => {
  const { recordCalls } = await import('@parley/client/internal/playground/wire-calls')
  const { log, linesOf, recorder } = await createLog()
  const call = recordCalls(async (input, init) => {
    const path = String(input)
    if (path.endsWith('/cut')) throw new TypeError('cut')
    init?.signal?.throwIfAborted()
    if (path.endsWith('/no')) return Response.json({ apiKey: 'k' }, { status: 404 })
    return Response.json({ n: 1 })
  }, recorder)
  const body = JSON.stringify({ token: 't', text: 'hi' })
  const response = await call('http://parley.test/api/a?q=%20b', { method: 'POST', body })
  expect(await response.json()).toEqual({ n: 1 })
  await call('/no')
  await expect(call('/cut')).rejects.toThrow('cut')
  await expect(call('/stop', { signal: AbortSignal.abort() })).rejects.toThrow()
  for (const path of ['/connection/sse', '/emulation']) await call(path)
  await vi.waitUntil(() => linesOf().every(([, , outcome]) => outcome))
  expect(linesOf()).toEqual([
    ['call', 'POST /api/a?q= b', '200'],
    ['call', 'GET /no', '404'],
    ['call', 'GET /cut', 'no network'],
    ['call', 'GET /stop', 'aborted'],
  ])
  const [sent, refused] = log.entries.getSnapshot()
  expect(sent?.payload).toEqual({
    ...{ path: '/api/a?q= b', request: { token: '(hidden)', text: 'hi' }, response: { n: 1 } },
  })
  expect([refused?.payload, refused?.outcome?.isGood]).toEqual([
    ...[{ path: '/no', request: undefined, response: { apiKey: '(hidden)' } }, false],
  ])
})

test('a socket is recorded with its commands, their replies, and events', async () => {
  const opened = openSockets()
  const { recordSockets } = await import('@parley/client/internal/playground/wire-sockets')
  const { linesOf, recorder } = await createLog()
  const Recorded = recordSockets(WebSocket, recorder)
  const socket = new Recorded('ws://parley.test')
  socket.dispatchEvent(new Event('open'))
  const frame = [
    { id: 1, subscribe: { channel: 'c', recover: true, offset: 4 } },
    { id: 2, subscribe: { channel: 'd' } },
  ]
  socket.send(frame.map((command) => JSON.stringify(command)).join('\n'))
  socket.send('{}')
  const data = (type: string) => ({ data: { type } })
  const replies = [
    { id: 1, subscribe: { publications: [{ ...data('message.new'), offset: 5 }] } },
    { id: 2, error: { message: 'permission denied' } },
    { push: { channel: 'c', pub: data('typing.start') } },
    { push: { disconnect: { reason: 'stale' } } },
  ]
  for (const reply of replies)
    socket.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(reply) }))
  socket.dispatchEvent(new NodeCloseEvent('close', { code: 3001, reason: 'bye' }))
  expect(linesOf()).toEqual([
    ['socket', 'open', 'WebSocket'],
    ['socket', 'subscribe', 'c from #4'],
    ['socket', 'subscribe', 'd'],
    ['event', 'message.new', 'c #5, recovered'],
    ['event', 'typing.start', 'c not stored'],
    ['socket', 'disconnect', undefined],
    ['socket', 'close', 'bye'],
  ])
  expect(opened[0]?.sent).toHaveLength(2)
  const failed = new Recorded('ws://parley.test')
  failed.dispatchEvent(new NodeCloseEvent('close', { code: 1006 }))
  expect(linesOf()).toHaveLength(8)
})

test('the wire view stays open over visits', async () => {
  const { useWireSwitch } = await import('@parley/client/internal/playground/use-wire-switch')
  const states: boolean[] = []
  let change = (_: boolean) => {}
  const Switch = () => {
    const [isOpen, setOpen] = useWireSwitch()
    change = setOpen
    states.push(isOpen)
    return null
  }
  await page.show(createElement(Switch))
  await act(async () => change(true))
  await page.show(createElement(Switch))
  expect(states).toEqual([false, true, true])
  localStorage.clear()
})
