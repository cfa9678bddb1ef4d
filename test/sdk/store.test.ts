import { createStore } from '@parley/client/internal/shared/store'
import { expect, test } from 'vitest'

test('a listener that unsubscribes twice ends its own watch only, and once', () => {
  const told: string[] = []
  const store = createStore(0, {
    onError: (error) => void told.push(`error ${error}`),
    onWatched: () => void told.push('watched'),
    onUnwatched: () => void told.push('unwatched'),
  })
  const stop = store.subscribe(() => void told.push('first'))
  stop()
  stop()
  expect(told).toEqual(['watched', 'unwatched'])
  const stopSecond = store.subscribe(() => void told.push('second'))
  stop()
  store.set(1)
  expect(told).toEqual(['watched', 'unwatched', 'watched', 'second'])
  stopSecond()
  expect(told.at(-1)).toBe('unwatched')
})
