import { expect, test } from 'vitest'
import { backend, callsTo } from './support/admitted-calls.ts'

test('an app with a long queue leaves connections unused while others want the loop', async () => {
  const loop = { isBusy: true }
  const { many, call, end, started } = callsTo(8, () => loop.isBusy)
  many('many', 30, () => backend('loud'))
  expect(started).toHaveLength(4)
  // Until another app has calls it is alone.
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
