import type { ImportRecordInput } from '@parley/contract'
import { hasUnsafeKeys, withoutUnsafeKeys } from '../../core/unsafe-keys.ts'

/** An object of an export: a line of JSON lines, or an element of a JSON array. */
export type Entity = Record<string, unknown>
/** The record that a converter makes of an entity of an export, or why it makes none. */
export type Converter = (entity: Entity) => (ImportRecordInput | { problem: string })[]
/** A format of exports. */
export type Format = {
  convert: Converter
  /** The names of lists in an object, as in `{"messages": […]}`, whose elements are entities. */
  lists: readonly string[]
}
type EntityOptions = Pick<Format, 'lists'> & {
  /** Called for an entity with keys that no import takes. It follows without them. */
  onUnsafeKeys: () => void
}

const OPEN = new Set(['{'.charCodeAt(0), '['.charCodeAt(0)])
const CLOSE = new Set(['}'.charCodeAt(0), ']'.charCodeAt(0)])
const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const ARRAY = '['.charCodeAt(0)
/** Elements of a list are inside it and inside the object that has it. */
const IN_LIST = 2

/**
 * The entities of a file, one by one, whether it is JSON lines, a JSON array, or an object that has
 * them in a list. Such an object follows without its lists, if it has other fields. Only the entity
 * at hand is in memory.
 */
export async function* entitiesOf(
  chunks: AsyncIterable<Uint8Array>,
  { lists, onUnsafeKeys }: EntityOptions,
): AsyncGenerator<Entity> {
  let parts: Uint8Array[] = []
  /** The text of the current object up to the elements of its list. */
  let around: Uint8Array[] = []
  let depth = 0
  /** The depth at which objects are entities: 0, or `IN_LIST`. */
  let base = 0
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
        if (depth === base) from = at
        depth += 1
        if (base > 0 || depth !== IN_LIST || byte !== ARRAY) continue
        const before = [...parts, chunk.slice(from, at + 1)]
        if (!lists.includes(nameOfList(before))) continue
        around = before
        parts = []
        base = IN_LIST
      } else if (CLOSE.has(byte) && depth > 0) {
        depth -= 1
        if (depth < base) {
          parts = around
          from = at
          base = 0
        }
        if (depth > base) continue
        parts.push(chunk.subarray(from, at + 1))
        const json = Buffer.concat(parts).toString('utf8')
        const isUnsafe = hasUnsafeKeys(json)
        if (isUnsafe) onUnsafeKeys()
        const entity: Entity = JSON.parse(json, isUnsafe ? withoutUnsafeKeys : undefined)
        parts = []
        if (base > 0) yield entity
        else yield* withoutLists(entity, lists)
      }
    }
    if (depth > base) parts.push(chunk.slice(from))
  }
  if (depth > 0) throw new Error('The file ends in the middle of an object')
}

/** The name of the list that begins where these bytes end; empty if it is longer than any. */
function nameOfList(before: Uint8Array[]) {
  const end = Buffer.concat(before).subarray(-NAME_BYTES).toString('utf8')
  return /"(\w+)"\s*:\s*\[$/.exec(end)?.[1] ?? ''
}
const NAME_BYTES = 100

function withoutLists(entity: Entity, lists: Format['lists']): Entity[] {
  const all = Object.entries(entity)
  const rest = all.filter(([name, value]) => !(lists.includes(name) && Array.isArray(value)))
  return rest.length === 0 && all.length > 0 ? [] : [Object.fromEntries(rest)]
}
