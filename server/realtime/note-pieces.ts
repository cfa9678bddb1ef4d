import { randomUUID } from 'node:crypto'

/** What the line of a piece begins with; that of a whole note is JSON. */
const MARK = '+'

/**
 * A note as lines of at most so many bytes, for payloads that cannot hold it whole. Each has the id
 * of the note and its own place: where some were lost, the rest is not taken for a whole note.
 */
export function piecesOf(note: string, lineBytes: number): string[] {
  const id = randomUUID()
  const content = Buffer.from(note).toString('base64')
  const length = lineBytes - `${MARK}${id} 1000 1000 `.length
  const count = Math.ceil(content.length / length)
  return Array.from({ length: count }, (_, index) => {
    const piece = content.slice(index * length, (index + 1) * length)
    return `${MARK}${id} ${index + 1} ${count} ${piece}`
  })
}

/** The pieces of a note that have arrived. */
type Parts = { id: string; pieces: string[] }

/**
 * Puts notes together. The pieces of one are sent by one transaction of its node: they arrive in
 * order, and all or none of them, unless the connection is lost.
 */
export class NoteAssembler {
  /** By node: one that died in between leaves one note at most. */
  readonly #parts = new Map<string, Parts>()

  /** The note that ends with this line of a node, if one does. */
  accept(nodeId: string, line: string): string | undefined {
    if (!line.startsWith(MARK)) return line === '' ? undefined : line
    const [id = '', place, count, piece = ''] = line.slice(MARK.length).split(' ')
    const known = this.#parts.get(nodeId)
    const pieces = known?.id === id ? [...known.pieces, piece] : [piece]
    this.#parts.delete(nodeId)
    if (pieces.length !== Number(place)) return undefined
    if (place === count) return Buffer.from(pieces.join(''), 'base64').toString()
    this.#parts.set(nodeId, { id, pieces })
    return undefined
  }
}
