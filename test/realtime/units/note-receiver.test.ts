import type { NodeNote } from '@parley/server/realtime/broker/index'
import { createNoteCounts } from '@parley/server/realtime/broker/note-counts'
import { createNoteReceiver } from '@parley/server/realtime/broker/note-receiver'
import { expect, test } from 'vitest'

test.each(['counts', 'fanout'])('a note of the kind %s is read by its node alone', (kind) => {
  const notes: NodeNote[] = []
  const problems: string[] = []
  const receive = createNoteReceiver({
    nodeId: 'node',
    counts: createNoteCounts({ silentMs: 5_000, onMissed: () => {}, onPeer: () => {} }),
    onNote: (note) => void notes.push(note),
    onOwn: () => {},
    report: (_, problem) => void problems.push(problem),
  })
  const note = { kind, node: 'node' }
  // The part for the other node is not parsed, so it may be malformed.
  receive(`sender\n1\n{"kind":"${kind}","node":"other",\n${JSON.stringify(note)}`)
  expect([notes, problems]).toEqual([[note], []])
})
