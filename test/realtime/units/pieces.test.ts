import { inPieces } from '@parley/server/realtime/chunks'
import { expect, test } from 'vitest'

test('pieces have all items in order, and exceed their size only by one large item', () => {
  const sizes = [4, 4, 4, 9, 20, 1, 2, 8]
  const pieces = [...inPieces(sizes, { mostBytes: 10, bytesOf: (size) => size })]
  expect(pieces).toEqual([[4, 4], [4], [9], [20], [1, 2], [8]])
})
