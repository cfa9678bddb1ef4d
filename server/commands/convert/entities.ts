import type { ImportRecordInput } from '@parley/contract'

/** An object of an export: a line of JSON lines, or an element of a JSON array. */
export type Entity = Record<string, unknown>
/** What a converter makes of one entity of an export, or why nothing. */
export type Converter = (entity: Entity) => (ImportRecordInput | { problem: string })[]

const OPEN = new Set(['{'.charCodeAt(0), '['.charCodeAt(0)])
const CLOSE = new Set(['}'.charCodeAt(0), ']'.charCodeAt(0)])
const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const ARRAY = '['.charCodeAt(0)

/**
 * The objects of a file, one by one, whether it is JSON lines, a JSON array, or one object that
 * holds an array of them. Only the object at hand is in memory.
 */
export async function* entitiesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Entity> {
  let parts: Uint8Array[] = []
  let depth = 0
  let isInText = false
  let isEscaped = false
  for await (const chunk of chunks) {
    let from = 0
    for (const [at, byte] of chunk.entries()) {
      if (isEscaped) isEscaped = false
      else if (isInText && byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) isInText = !isInText
      else if (isInText) continue
      else if (OPEN.has(byte)) {
        // The array around all objects is no object.
        if (depth === 0 && byte === ARRAY) continue
        if (depth === 0) from = at
        depth += 1
      } else if (CLOSE.has(byte) && depth > 0) {
        depth -= 1
        if (depth > 0) continue
        parts.push(chunk.subarray(from, at + 1))
        yield* listed(JSON.parse(Buffer.concat(parts).toString('utf8')))
        parts = []
      }
    }
    if (depth > 0) parts.push(chunk.slice(from))
  }
  if (depth > 0) throw new Error('The file ends in the middle of an object')
}

/** An export may be one object, with all entities in a list: `{"messages": […]}`. */
function listed(entity: Entity): Entity[] {
  const [only, ...others] = Object.values(entity)
  return others.length === 0 && Array.isArray(only) ? only : [entity]
}
