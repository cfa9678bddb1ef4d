import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { limits } from '@parley/contract'
import { createAdmission } from '@parley/server/core/admission'
import { createMetrics } from '@parley/server/core/metrics'
import { Departure } from '@parley/server/http/departure'
import { admissionRequestOf } from '@parley/server/http/runner'
import { expect, onTestFinished, test, vi } from 'vitest'
import { backend, callsTo, inAMinute, user } from './support/admitted-calls.ts'

const { userWaiting, appWaiting } = limits.callsAtOnce
const lookUp = () => ({ appId: 'app', queue: 'tokens' as const, until: inAMinute() })
const batch = () => ({ appId: 'app', queue: 'sends' as const, until: inAMinute() })
const waits = (first: string) => ({ ...batch(), queue: 'waits' as const, first })

/** A caller who has disconnected. */
function departed() {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  response.destroy()
  return new Departure(response)
}

test('a call waits in the queue of its caller, and leaves it if the caller does', () => {
  const gone = { isOver: false, add: () => {}, delete: () => {} }
  const call = { until: 1, gone }
  const app = { appId: 'app' }
  const ana = { ...app, userId: 'ana', isAdmin: false }
  const asBackend = { ...app, queue: 'calls', ...call }
  expect(admissionRequestOf({ ...call, caller: ana })).toEqual({ ...app, userId: 'ana', ...call })
  expect(admissionRequestOf({ ...call, caller: { ...ana, keyHash: 'key' } })).toEqual(asBackend)
  const backend = { ...app, keyHash: 'key', userId: null }
  expect(admissionRequestOf({ ...call, caller: backend })).toEqual(asBackend)
  const operator = { appId: 'operator', queue: 'calls', ...call }
  expect(admissionRequestOf({ ...call, caller: {} })).toEqual(operator)
  const shared = { appId: 'app', queue: 'sends', until: 1 }
  expect(admissionRequestOf({ ...call, caller: ana, isShared: true })).toEqual(shared)
  const waits = { appId: 'app', queue: 'waits', until: 1 }
  const waiting = { until: 1, isShared: false, isWaiting: true }
  expect(admissionRequestOf({ ...waiting, caller: ana })).toEqual({ ...waits, first: 'ana' })
  expect(admissionRequestOf({ ...waiting, caller: backend })).toEqual(waits)
})

test.each([
  { poolSize: 2, app: 1, one: 1 },
  { poolSize: 3, app: 1, one: 1 },
  { poolSize: 4, app: 2, one: 1 },
  { poolSize: 6, app: 3, one: 1 },
  { poolSize: 10, app: 5, one: 3 },
  { poolSize: 12, app: 6, one: 3 },
  { poolSize: 100, app: 50, one: 8 },
])('with $poolSize connections, an app uses $app and a user $one', ({ poolSize, app, one }) => {
  const { many, started } = callsTo(poolSize)
  many('ana', 60, () => user('ana'))
  expect(started).toHaveLength(one)
  many('backend', 60, backend)
  expect(started).toHaveLength(app)
  many('other', 60, () => backend('other'))
  expect(started).toHaveLength(2 * app)
  many('namesake', 60, () => user('ana', 'third'))
  expect(started).toHaveLength(2 * app + one)
})

test.each([
  { poolSize: 2, app: 1, lookUps: 1 },
  { poolSize: 4, app: 2, lookUps: 1 },
  { poolSize: 6, app: 3, lookUps: 2 },
  { poolSize: 100, app: 50, lookUps: 2 },
])('with $poolSize connections, token look-ups use $lookUps, beside those of the app', (uses) => {
  const { many, started } = callsTo(uses.poolSize)
  many('token', 60, lookUp)
  expect(started).toHaveLength(uses.lookUps)
  many('backend', 60, backend)
  expect(started).toHaveLength(uses.lookUps + uses.app)
})

test('a batch that waits for a lock does not wait behind the calls of its first author', () => {
  const { many, started } = callsTo(40)
  many('ana', 60, () => user('ana'))
  many('waits', 60, () => waits('ana'))
  many('others', 60, () => waits('ben'))
  const counts = ['ana', 'waits', 'others'].map(
    (name) => started.filter((call) => call.startsWith(name)).length,
  )
  expect(counts).toEqual([8, 4, 4])
})

// With fewer than three places, batches that wait for locks need the only other one.
test.each([6, 8, 10, 12, 14, 16, 18, 20])(
  'with %i connections, the calls and waiting batches of one user leave one to others',
  (poolSize) => {
    const { many, started } = callsTo(poolSize)
    many('ana', 60, () => user('ana'))
    many('waits', 60, () => waits('ana'))
    expect(started.length).toBeLessThan(poolSize / 2)
    expect(started).toContain('waits1')
    many('ben', 60, () => user('ben'))
    expect(started).toContain('ben1')
  },
)

test('token look-ups do not wait behind calls, and their queue is bounded', async () => {
  const { many, call, end, started, refused } = callsTo(2)
  many('backend', 1 + appWaiting, backend)
  many('token', 1 + appWaiting, lookUp)
  expect(started).toEqual(['backend1', 'token1'])
  await expect(call('overflow', lookUp())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(await refused()).toEqual([['full', 1]])
  await end('token1')
  expect(started).toEqual(['backend1', 'token1', 'token2'])
  await end('backend1')
  expect(started).toEqual(['backend1', 'token1', 'token2', 'backend2'])
})

test('the callers of an app take turns, and the calls of one keep their order', async () => {
  const { many, end, started } = callsTo(2)
  many('ana', 4, () => user('ana'))
  many('ben', 2, () => user('ben'))
  many('key', 1, backend)
  for (const name of ['ana1', 'ana2', 'ben1', 'key1', 'ana3', 'ben2', 'ana4']) {
    expect(started.at(-1)).toBe(name)
    await end(name)
  }
  expect(started).toHaveLength(7)
})

test('a user at their limit does not delay other users', async () => {
  const { many, call, end, started, waiting } = callsTo(4)
  many('ana', 3, () => user('ana'))
  call('ben1', user('ben'))
  expect(started).toEqual(['ana1', 'ben1'])
  many('cleo', 1, () => user('cleo'))
  expect(await waiting()).toBe(3)
  await end('ben1')
  expect(started).toEqual(['ana1', 'ben1', 'cleo1'])
  await end('ana1')
  await end('cleo1')
  expect(started).toEqual(['ana1', 'ben1', 'cleo1', 'ana2'])
})

test('a call that fails frees its place for the next', async () => {
  const admit = createAdmission({ poolSize: 2, metrics: createMetrics() })
  for (const _ of [1, 2, 3]) {
    const failing = admit(user('ana'), () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
  }
  expect(await admit(user('ana'), async () => 'done')).toBe('done')
})

test('a call whose caller goes away leaves the queue, and the next takes its place', async () => {
  const { call, end, started, waiting, refused } = callsTo(2)
  call('first', user('ana'))
  const calls = new Set<() => void>()
  const gone = {
    isOver: false,
    add: (leave: () => void) => void calls.add(leave),
    delete: (leave: () => void) => void calls.delete(leave),
  }
  const left = call('left', { ...user('ana'), gone })
  call('next', user('ana'))
  expect(await waiting()).toBe(2)
  for (const leave of calls) leave()
  gone.isOver = true
  await expect(left).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(call('never', { ...user('ana'), gone })).rejects.toThrow('gone away')
  await expect(call('nor', { ...user('ana'), gone: departed() })).rejects.toThrow('gone away')
  expect(await waiting()).toBe(1)
  await end('first')
  expect(started).toEqual(['first', 'next'])
  expect(await refused()).toEqual([['gone', 3]])
})

test('a call that waits beyond its deadline is refused, and the queue goes on', async () => {
  const { call, end, started, refused } = callsTo(2)
  call('first', user('ana'))
  const late = call('late', { ...user('ana'), until: performance.now() + 1 })
  call('next', user('ana'))
  await expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await end('first')
  expect(started).toEqual(['first', 'next'])
  expect(await refused()).toEqual([['late', 1]])
})

test('the deadline of a call that has had its turn has no effect', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { call, end, started, waiting, refused } = callsTo(2)
  call('first', user('ana'))
  call('next', user('ana'))
  await end('first')
  call('last', user('ben'))
  expect([started, await waiting()]).toEqual([['first', 'next'], 1])
  vi.advanceTimersByTime(30_000)
  await end('next')
  call('late', user('cleo'))
  vi.advanceTimersByTime(59_999)
  expect([started, await waiting(), await refused()]).toEqual([['first', 'next', 'last'], 1, []])
})

test('a caller who waited too long does not keep a place in the queue', async () => {
  const { call, end, started } = callsTo(2)
  call('key', backend())
  const late = call('late', { ...user('ben'), until: performance.now() + 1 })
  await expect(late).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  call('cleo', user('cleo'))
  call('ben', user('ben'))
  await end('key')
  expect(started).toEqual(['key', 'cleo'])
})

test('the queues of users and apps are bounded; batches are not refused', async () => {
  const { many, call, waiting, refused } = callsTo(4)
  many('ana', 1 + userWaiting, () => user('ana'))
  const overflow = call('overflow', user('ana'))
  await expect(overflow).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 })
  many('key', 1 + appWaiting - userWaiting, backend)
  expect(await waiting()).toBe(appWaiting)
  for (const from of [backend(), user('ben')])
    await expect(call('late', from)).rejects.toThrow('Too many calls are waiting; try again later')
  call('batch', batch())
  call('waits', waits('ana'))
  expect(await waiting()).toBe(appWaiting + 2)
  expect(await refused()).toEqual([['full', 3]])
})

test('a caller who was refused does not keep a place in the queue', async () => {
  const { many, call, end, started } = callsTo(4)
  many('key', 2 + appWaiting, backend)
  await expect(call('refused', user('ben'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await end('key1')
  await end('key2')
  call('cleo', user('cleo'))
  call('ben', user('ben'))
  await end('key3')
  await end('key4')
  expect(started.slice(-2)).toEqual(['key5', 'cleo'])
})

test('a queue that was full takes calls again once one of them has started', async () => {
  const { many, call, end, waiting, refused } = callsTo(2)
  many('key', 1 + appWaiting, backend)
  await expect(call('overflow', backend())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await end('key1')
  call('next', backend())
  expect(await waiting()).toBe(appWaiting)
  expect(await refused()).toEqual([['full', 1]])
})
