import { type BufferedChange, LoadBuffer } from '@parley/client/internal/room/load-buffer'
import { Resources } from '@parley/client/internal/room/resources'
import { expect, test } from 'vitest'
import { collectGarbage } from '../support/heap.ts'
import { quiet } from '../support/scripted/index.ts'

test('each load gets the changes since it began, until the last one ends', () => {
  const buffer = new LoadBuffer()
  const change = (): BufferedChange => (state) => state
  const [one, two, three] = [change(), change(), change()]
  buffer.add(change())
  const first = buffer.recordChanges()
  buffer.add(one)
  const second = buffer.recordChanges()
  buffer.add(two)
  expect([first.changes(), second.changes()]).toEqual([[one, two], [two]])
  first.halt()
  buffer.add(three)
  expect(second.changes()).toEqual([two, three])
  second.halt()
  expect(buffer.recordChanges().changes()).toEqual([])
})

test('events that arrive after a load has ended or failed are not buffered', async () => {
  const resources = new Resources({
    loaderOf: () => async () => (state) => state,
    watched: () => [],
    canLoad: () => false,
    loadedStatus: () => 'ready',
    onLoaded: () => {},
    onChanged: () => {},
  })
  await resources.load('messages')
  const failing = async () => {
    throw new Error('no such thread')
  }
  await expect(resources.load('thread:1', failing)).rejects.toThrow('no such thread')
  const buffer = () => {
    const change: BufferedChange = (state) => ({ ...state })
    resources.buffer.add(change)
    return new WeakRef(change)
  }
  const buffered = buffer()
  await quiet()
  collectGarbage()
  expect(buffered.deref()).toBeUndefined()
  expect(resources.buffer.recordChanges().changes()).toEqual([])
})
