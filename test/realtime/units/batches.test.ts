import { coalesce } from '@parley/server/realtime/coalesce'
import { json } from '@parley/server/realtime/protocol/json'
import { WriteBuffer } from '@parley/server/realtime/write-buffer'
import { expect, test } from 'vitest'

test('calls of a failed batch get their own results, except the one that caused it', async () => {
  const double = coalesce<number, number>(
    async (items) => {
      if (items.includes(2)) throw new Error('refused')
      return items.map((item) => item * 2)
    },
    { maxBatch: 3 },
  )
  const settled = await Promise.allSettled([1, 2, 3].map(double))
  expect(settled).toMatchObject([{ value: 2 }, { status: 'rejected' }, { value: 6 }])
})

test('a frame is not reused for messages that go on after those in it', () => {
  const buffer = new WriteBuffer()
  const messages = ['{"a":1}', '{"b":1}', '{"c":1}'].map((text) => Buffer.from(text))
  const two = buffer.frame(json, messages.slice(0, 2))
  expect(buffer.frame(json, messages.slice(0, 2))).toBe(two)
  expect(`${buffer.frame(json, messages)}`).toBe('{"a":1}\n{"b":1}\n{"c":1}')
  expect(`${buffer.frame(json, messages.slice(0, 2))}`).toBe(`${two}`)
})
