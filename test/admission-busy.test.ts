import { performance } from 'node:perf_hooks'
import { createLoopWatch } from '@parley/server/core/loop-watch'
import { expect, onTestFinished, test, vi } from 'vitest'
import { backend, callsTo, user } from './support/admitted-calls.ts'

test('an app with a long queue leaves connections unused while others want the loop', async () => {
  const loop = { isBusy: true }
  const { many, call, end, started } = callsTo(8, () => loop.isBusy)
  many('many', 30, () => backend('loud'))
  expect(started).toHaveLength(4)
  // The app is alone until another one has calls.
  await end('many1')
  expect(started.at(-1)).toBe('many5')
  call('quiet', backend('quiet'))
  await end('many2')
  await end('many3')
  expect(started.slice(5)).toEqual(['quiet'])
  await end('many4')
  expect(started.slice(6)).toEqual(['many6'])
  loop.isBusy = false
  call('next', backend('loud'))
  await new Promise(setImmediate)
  expect(started.slice(7)).toEqual(['many7', 'many8'])
  loop.isBusy = true
  await end('many5')
  await end('many6')
  await end('many7')
  expect(started.slice(9)).toEqual(['many9'])
  await end('quiet')
  await end('many8')
  expect(started.slice(10)).toEqual(['many10', 'many11', 'many12'])
})

test('an app with a short queue has all its connections, however busy the loop is', async () => {
  const { many, call, end, started } = callsTo(8, () => true)
  call('quiet', backend('quiet'))
  many('few', 4 + 15, () => backend('app'))
  expect(started).toHaveLength(1 + 4)
  await end('few1')
  expect(started.at(-1)).toBe('few5')
})

test('look-ups of keys, which any client may cause, take no connections of an app', async () => {
  const { many, call, end, started } = callsTo(8, () => true)
  const lookUp = (network = 'one') => ({ ...user(network, 'unknown keys'), isKeyLookUp: true })
  many('many', 30, () => backend('app'))
  call('key', lookUp())
  expect(started).toEqual(['many1', 'many2', 'many3', 'many4', 'key'])
  for (const name of ['many1', 'many2', 'many3', 'many4']) await end(name)
  expect(started.slice(5)).toEqual(['many5', 'many6', 'many7', 'many8'])
  // A good key that is new to the process may wait among them.
  call('other', backend('other'))
  many('of one', 20, () => lookUp())
  many('of two', 20, () => lookUp('two'))
  expect(started.slice(9)).toEqual(['other', 'of one1', 'of two1', 'of two2'])
  await end('key')
  await end('of one1')
  await end('of two1')
  expect(started).toHaveLength(13 + 3)
})

test('only the last moments decide whether the event loop is busy', () => {
  const difference = performance.eventLoopUtilization.bind(performance)
  const spent = { idle: 0, active: 0, utilization: 0 }
  vi.spyOn(performance, 'now').mockImplementation(() => spent.idle + spent.active)
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation((one, other) =>
    one ? difference(one, other) : { ...spent },
  )
  onTestFinished(() => void vi.restoreAllMocks())
  const isBusy = createLoopWatch()
  const after = (spend: 'idle' | 'active', ms: number) => {
    spent[spend] += ms
    return isBusy()
  }
  const shown = [after('idle', 60_000), after('active', 200), after('idle', 200)]
  expect(shown).toEqual([false, true, false])
})
