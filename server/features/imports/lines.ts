import { setImmediate } from 'node:timers/promises'
import { limits } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { valueWithin } from '../../core/with-timeout.ts'

/** A line of an import that is not empty, or what is wrong with its bytes. */
export type ImportLine = { line: number; isCutOff?: true } & (
  | { text: string }
  | { problem: string }
)

const { lineBytes, batch, stalledSeconds } = limits.imports
/** An incomplete batch is handed on when nothing has come for this long. */
const PAUSE_MS = 1_000
const NEWLINE = 0x0a

/**
 * The lines of a body in batches, read while it arrives: at most one batch and one chunk are in
 * memory. Throws if the next line takes longer than `stalledMs`. Of a chunk of thousands of lines,
 * however short, as many as a batch has are read in one turn of the event loop.
 */
export async function* batchesOf(
  body: AsyncIterable<Uint8Array>,
  stalledMs = stalledSeconds * 1_000,
): AsyncGenerator<ImportLine[]> {
  const splitter = createSplitter()
  const chunks = body[Symbol.asyncIterator]()
  let pending: ImportLine[] = []
  let bytes = 0
  let read = 0
  let lastLineAt = performance.now()
  try {
    for (let next = chunks.next(); ; ) {
      const leftMs = lastLineAt + stalledMs - performance.now()
      const waitMs = pending.length > 0 ? Math.min(PAUSE_MS, leftMs) : leftMs
      const chunk = await valueWithin(waitMs, next, () => undefined)
      if (chunk === undefined && pending.length === 0)
        throw new ApiError('VALIDATION_ERROR', `body: no line came for ${stalledSeconds} seconds`)
      if (chunk?.done) break
      for (const line of chunk ? splitter.split(chunk.value) : []) {
        read += 1
        if (read % batch.lines === 0) await setImmediate()
        if (!line) continue
        lastLineAt = performance.now()
        pending.push(line)
        bytes += 'text' in line ? line.text.length : 0
        if (pending.length < batch.lines && bytes < batch.bytes) continue
        yield pending
        pending = []
        bytes = 0
        lastLineAt = performance.now()
      }
      if (chunk === undefined) {
        yield pending
        pending = []
        bytes = 0
      } else next = chunks.next()
    }
    const last = splitter.end()
    yield last ? [...pending, last] : pending
  } finally {
    // Not awaited: a source that has stalled would not answer.
    void chunks.return?.()?.then(undefined, () => {})
  }
}

/** Cuts chunks into lines. Of a line that is too long, nothing is kept. */
function createSplitter() {
  let parts: Uint8Array[] = []
  let length = 0
  let number = 0

  const add = (part: Uint8Array) => {
    length += part.length
    if (length > lineBytes) parts = []
    else if (part.length > 0) parts.push(part)
  }
  /** The line that ends here; undefined if it is blank. */
  const take = (): ImportLine | undefined => {
    number += 1
    const bytes = Buffer.concat(parts)
    const isTooLong = length > lineBytes
    parts = []
    length = 0
    if (isTooLong) return { line: number, problem: `expected at most ${lineBytes} bytes` }
    const text = decode(bytes)
    if (text === undefined) return { line: number, problem: 'expected UTF-8' }
    return text.trim() === '' ? undefined : { line: number, text }
  }
  /** The lines that end in a chunk, each cut when it is asked for. */
  function* split(chunk: Uint8Array) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at))
      yield take()
      from = at + 1
    }
    add(chunk.subarray(from))
  }
  /** The last line, which no newline ends. */
  const end = (): ImportLine | undefined => {
    const last = length === 0 ? undefined : take()
    return last && { ...last, isCutOff: true }
  }
  return { split, end }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
function decode(bytes: Uint8Array) {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
