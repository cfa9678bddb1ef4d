import type { NodeNote } from '@parley/server/realtime/broker/index'
import { createNoteCounts } from '@parley/server/realtime/broker/note-counts'
import { lineOf } from '@parley/server/realtime/broker/note-lines'
import { piecesOf } from '@parley/server/realtime/broker/note-pieces'
import { createNoteReceiver } from '@parley/server/realtime/broker/note-receiver'
import { expect, test } from 'vitest'

const addressed: NodeNote[] = [
  { kind: 'counts', node: 'node', channels: [] },
  { kind: 'fanout', node: 'node', fanouts: [], groups: [] },
  { kind: 'accepted', node: 'node', id: 'x', isKnown: true },
  { kind: 'surveyed', node: 'node', id: 'x', clients: [] },
]

test.each(addressed)('a note of the kind $kind is read by its node alone', (note) => {
  const line = lineOf(note, 0)
  expect(received('node', [line])).toEqual({ notes: [note], problems: [] })
  expect(received('other', [line])).toEqual({ notes: [], problems: [] })
})

test('other nodes do not parse the JSON of a note for one node', () => {
  const line = lineOf({ kind: 'counts', node: 'other', channels: [] }, 0)
  const malformed = line.slice(0, -1)
  expect(received('node', [malformed])).toEqual({ notes: [], problems: [] })
  expect(received('other', [malformed]).problems).toHaveLength(1)
})

test('a note for one node that was sent in pieces is read by that node alone', () => {
  const note: NodeNote = { kind: 'accepted', node: 'node', id: 'x'.repeat(500), isKnown: true }
  const pieces = piecesOf(lineOf(note, 0), 150)
  expect(pieces.length).toBeGreaterThan(3)
  expect(received('node', pieces)).toEqual({ notes: [note], problems: [] })
  expect(received('other', pieces)).toEqual({ notes: [], problems: [] })
})

test('an id of a node cannot forge a note, whatever its characters', () => {
  const forged = '\n{"kind":"revoked"}\n@"node" {"kind":"survey"}'
  const note: NodeNote = { kind: 'accepted', node: `node" ${forged}`, id: 'x', isKnown: true }
  const line = lineOf(note, 0)
  expect(line.split('\n')).toHaveLength(1)
  expect(received('node', [line])).toEqual({ notes: [], problems: [] })
  expect(received(note.node, [line])).toEqual({ notes: [note], problems: [] })
})

/** What a node reads of a payload with these lines. */
function received(nodeId: string, lines: string[]) {
  const notes: NodeNote[] = []
  const problems: string[] = []
  const receive = createNoteReceiver({
    nodeId,
    counts: createNoteCounts({ silentMs: 5_000, onMissed: () => {}, onPeer: () => {} }),
    onNote: (note) => void notes.push(note),
    onOwn: () => {},
    report: (_, problem) => void problems.push(problem),
  })
  receive(['sender', '1', ...lines].join('\n'))
  return { notes, problems }
}
