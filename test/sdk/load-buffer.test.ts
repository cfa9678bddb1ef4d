import { type BufferedChange, LoadBuffer } from '@parley/client/internal/room/load-buffer'
import { expect, test } from 'vitest'

test('each load gets the changes since it began, until the last one ends', () => {
  const buffer = new LoadBuffer()
  const change = (): BufferedChange => (state) => state
  const [one, two, three] = [change(), change(), change()]
  buffer.add(change())
  const first = buffer.record()
  buffer.add(one)
  const second = buffer.record()
  buffer.add(two)
  expect([first.changes(), second.changes()]).toEqual([[one, two], [two]])
  first.stop()
  buffer.add(three)
  expect(second.changes()).toEqual([two, three])
  second.stop()
  expect(buffer.record().changes()).toEqual([])
})
