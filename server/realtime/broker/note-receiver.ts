import type { NodeNote } from './index.ts'
import type { createNoteCounts } from './note-counts.ts'
import { NoteAssembler } from './note-pieces.ts'

/** The last line of a node that leaves. Like the number of a payload, it is no note. */
export const LEAVE = '"farewell"'

type ReceiverOptions = {
  nodeId: string
  counts: ReturnType<typeof createNoteCounts>
  onNote: (note: NodeNote) => void
  /** Called when a payload of this node has come back: one of its beats, or notes. */
  onOwn: (isBeat: boolean) => void
  report: (error: unknown, problem: string) => void
}

const NUMBER = /^\d+$/
/** A payload for some nodes only has the number of the last payload to all nodes. */
const LAST_NUMBER = /^=\d+$/
const BEAT = /^\d+\n$/
/** The beginning of a note for one node. Other nodes stop reading here. */
const ADDRESSED = /^\{"kind":"(?:counts|fanout|commands|accepted)","node":"([^"]*)"/

/** Reads payloads: the id of their node, and then lines, one for each note. */
export function createNoteReceiver({ nodeId, counts, onNote, onOwn, report }: ReceiverOptions) {
  const assembler = new NoteAssembler()
  const receive = (note: string) => {
    const addressee = ADDRESSED.exec(note)?.[1]
    if (addressee !== undefined && addressee !== nodeId) return
    try {
      onNote(JSON.parse(note) as NodeNote) // sent by another node
    } catch (error) {
      // The notes after it may be fine.
      report(error, 'note from another node could not be parsed')
    }
  }
  return (payload: string) => {
    const end = payload.indexOf('\n')
    const content = payload.slice(end + 1)
    const isBeat = BEAT.test(content)
    if (payload.slice(0, end) === nodeId) return onOwn(isBeat)
    const sender = payload.slice(0, end)
    for (const line of content.split('\n')) {
      if (NUMBER.test(line)) counts.received(sender, Number(line), isBeat)
      else if (LAST_NUMBER.test(line)) counts.receivedUnnumbered(sender, Number(line.slice(1)))
      else if (line === LEAVE) counts.left(sender)
      else {
        const note = assembler.accept(sender, line)
        if (note) receive(note)
      }
    }
  }
}
