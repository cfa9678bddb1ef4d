import { randomUUID } from 'node:crypto'

/** The first character of a piece's line; a whole note is JSON. */
const MARK = '+'

/**
 * Splits a note into lines of at most so many bytes, for payloads that cannot hold it whole. Each
 * line has the note's id and its own number, so that an incomplete note is never taken for a whole
 * one.
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
type ArrivedPieces = { id: string; pieces: string[] }

/**
 * Joins the pieces of notes. A node sends the pieces of a note in one transaction, so they arrive
 * in order, and all or none, unless the connection is lost.
 */
export class NoteAssembler {
  /** By node: a node that dies in the middle leaves at most one incomplete note. */
  readonly #arrived = new Map<string, ArrivedPieces>()

  /** The note that ends with this line of a node, if one does. */
  accept(nodeId: string, line: string): string | undefined {
    if (!line.startsWith(MARK)) {
      return line === '' ? undefined : line
    }
    const [id = '', number, count, piece = ''] = line.slice(MARK.length).split(' ')
    const known = this.#arrived.get(nodeId)
    const pieces = known?.id === id ? [...known.pieces, piece] : [piece]
    this.#arrived.delete(nodeId)
    if (pieces.length !== Number(number)) return undefined
    if (number === count) return Buffer.from(pieces.join(''), 'base64').toString()
    this.#arrived.set(nodeId, { id, pieces })
    return undefined
  }
}
