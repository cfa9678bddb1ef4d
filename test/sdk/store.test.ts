import { createStore } from '@parley/client/internal/shared/store'
import { expect, test } from 'vitest'

test('a listener that unsubscribes twice ends its own watch only, and once', () => {
  const calls: string[] = []
  const store = createStore(0, {
    onError: (error) => void calls.push(`error ${error}`),
    onWatched: () => void calls.push('watched'),
    onUnwatched: () => void calls.push('unwatched'),
  })
  const stop = store.subscribe(() => void calls.push('first'))
  stop()
  stop()
  expect(calls).toEqual(['watched', 'unwatched'])
  const stopSecond = store.subscribe(() => void calls.push('second'))
  stop()
  store.set(1)
  expect(calls).toEqual(['watched', 'unwatched', 'watched', 'second'])
  stopSecond()
  expect(calls.at(-1)).toBe('unwatched')
})
