import type { NodeNote } from './index.ts'

/**
 * What the line of a note for one node begins with: a character that no other line begins with,
 * and the id of the node as JSON, so that no id can end the line. Other nodes read no more of it.
 */
const MARK = '@'
const addressOf = (nodeId: string) => `${MARK}${JSON.stringify(nodeId)} `

/**
 * The line of a note: JSON, after the address if it is for one node. If a hint is longer than
 * allowed, its event is left out, to be read from the log.
 */
export function lineOf(note: NodeNote, mostBytes: number) {
  const json = JSON.stringify(note)
  if ('node' in note) return addressOf(note.node) + json
  if (note.kind !== 'hint' || !note.event || Buffer.byteLength(json) <= mostBytes) return json
  return JSON.stringify({ ...note, event: undefined })
}

/** Reads the lines of notes; undefined for a note to another node. */
export function createNoteReader(nodeId: string) {
  const ownAddress = addressOf(nodeId)
  return (line: string): NodeNote | undefined => {
    const isOwn = line.startsWith(ownAddress)
    if (line.startsWith(MARK) && !isOwn) return undefined
    return JSON.parse(isOwn ? line.slice(ownAddress.length) : line) // sent by another node
  }
}
