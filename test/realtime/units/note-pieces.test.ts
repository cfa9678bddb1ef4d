import { NoteAssembler, piecesOf } from '@parley/server/realtime/broker/note-pieces'
import { expect, test } from 'vitest'

test('a note whose first pieces were lost is dropped, and the next ones arrive', () => {
  const assembler = new NoteAssembler()
  const accept = (line = '') => assembler.accept('node', line)
  const [, second, third] = piecesOf(JSON.stringify({ text: 'x'.repeat(200) }), 150)
  expect([accept(second), accept(third)]).toEqual([undefined, undefined])
  const note = JSON.stringify({ text: '😀'.repeat(300) })
  const lines = piecesOf(note, 150)
  expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(150)
  expect(lines.map((line) => accept(line)).at(-1)).toBe(note)
  expect([accept(''), accept('{}')]).toEqual([undefined, '{}'])
})

test('pieces of two notes are not put together, whichever of them were lost', () => {
  const assembler = new NoteAssembler()
  const [first = [], other = []] = ['a', 'b'].map((text) => piecesOf(text.repeat(200), 150))
  expect([first.length, other.length]).toEqual([3, 3])
  const arrived = [first[0], first[1], other[2]].map((line = '') => assembler.accept('node', line))
  expect(arrived).toEqual([undefined, undefined, undefined])
})
