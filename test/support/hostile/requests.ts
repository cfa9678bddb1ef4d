import type { Operation } from '@parley/contract'
import fc from 'fast-check'
import { z } from 'zod'
import { type Field, type Pool, poolOf, pools } from './pools.ts'
import { anyText, textOfCodePoints, webUrl } from './texts.ts'

/**
 * Input for an operation, perhaps broken at one path. `§channelId.0` is replaced by an id of the
 * fixture.
 */
export type Request = { args: Record<string, unknown>; caller: number; via: 'rest' | 'trpc' }

/** Requests that match the schema of an operation; four of ten are broken at one path. */
export function requestsFor(id: string, op: Operation): fc.Arbitrary<Request> {
  // The input of an operation is an object.
  const args = arbitraryOf(schemaOf(op), { id, name: '' }) as fc.Arbitrary<Record<string, unknown>>
  const damage = fc.record({ choice: fc.nat(), poison })
  return fc.record({
    args: fc.oneof(
      { weight: 6, arbitrary: args },
      { weight: 4, arbitrary: fc.tuple(args, damage).map((drawn) => broken(...drawn)) },
    ),
    caller: fc.nat(),
    via: fc.constantFrom('rest' as const, 'rest' as const, 'rest' as const, 'trpc' as const),
  })
}

/** Fields of which an operation requires one or another. */
const ONE_OF = ['name', 'text', 'role']

/** The plainest valid request: the required fields, with ids of the fixture where possible. */
export const plainRequest = (id: string, op: Operation): Request => ({
  args: plainFields(schemaOf(op), id),
  caller: 0,
  via: 'rest',
})

function plainFields({ properties = {}, required = [] }: Schema, id: string) {
  const fields = Object.entries(properties).filter(
    ([name]) => required.includes(name) || ONE_OF.includes(name),
  )
  return Object.fromEntries(fields.map(([name, schema]) => [name, plain(schema, { id, name })]))
}

type Schema = {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string
  anyOf?: Schema[]
  enum?: unknown[]
  examples?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | false
}

/** The JSON schema of an operation's input, references resolved. */
function schemaOf({ input }: Operation): Schema {
  const { $defs = {}, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
  }) as Schema
  const resolved = (part: Schema): Schema => {
    const { $ref, ...whole } = part.$ref
      ? { ...$defs[part.$ref.replace('#/$defs/', '')], ...part }
      : part
    return {
      ...whole,
      ...(whole.anyOf && { anyOf: whole.anyOf.map(resolved) }),
      ...(whole.items && { items: resolved(whole.items) }),
      ...(whole.properties && {
        properties: Object.fromEntries(
          Object.entries(whole.properties).map(([name, field]) => [name, resolved(field)]),
        ),
      }),
    }
  }
  return resolved(schema)
}

function plain(schema: Schema, field: Field): unknown {
  const pool = poolOf(field)
  if (pool && schema.type === 'array') return [`§${pool}.0`]
  if (pool && schema.type === 'object') return { [`§${pool}.0`]: 0 }
  if (pool) return `§${pool}.0`
  const item = schema.items?.anyOf?.[0] ?? schema.items
  if (schema.minItems && item?.properties) return [plainFields(item, field.id)]
  return schema.examples?.[0] ?? schema.enum?.[0]
}

function arbitraryOf(schema: Schema, field: Field): fc.Arbitrary<unknown> {
  const pool = poolOf(field)
  const generated = byType(schema, field)
  if (pool && schema.type === 'string')
    return fc.oneof({ weight: 9, arbitrary: fromPool(pool) }, { weight: 1, arbitrary: generated })
  return schema.examples && schema.type !== 'object'
    ? fc.oneof(fc.constantFrom(...schema.examples), generated)
    : generated
}

/** The first of a pool is the likeliest, so that ids that belong together are combined. */
const fromPool = (pool: Pool) =>
  fc
    .oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(pools[pool] - 1) },
    )
    .map((index) => `§${pool}.${index}`)

function byType(schema: Schema, field: Field): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((part) => arbitraryOf(part, field)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'null') return fc.constant(null)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer') {
    const min = schema.minimum ?? 0
    return fc.oneof(fc.integer({ min, max: min + 50 }), fc.maxSafeInteger())
  }
  if (schema.type === 'string') return textOf(schema)
  if (schema.type === 'array')
    return fc.array(arbitraryOf(schema.items ?? {}, field), {
      minLength: schema.minItems ?? 0,
      maxLength: Math.min(schema.maxItems ?? 4, 4),
    })
  if (schema.properties) return recordOf(schema.properties, schema.required ?? [], field)
  const pool = poolOf(field)
  if (schema.type === 'object')
    return fc.dictionary(
      pool ? fromPool(pool) : textOfCodePoints(),
      arbitraryOf(schema.additionalProperties || {}, { ...field, name: '' }),
      {
        maxKeys: 4,
      },
    )
  return fc.jsonValue({ maxDepth: 3 })
}

const recordOf = (properties: Record<string, Schema>, required: string[], { id }: Field) =>
  fc.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, arbitraryOf(schema, { id, name })]),
    ),
    { requiredKeys: required },
  )

function textOf({ format, pattern, minLength = 0, maxLength = 60 }: Schema): fc.Arbitrary<string> {
  if (format === 'uri') return webUrl
  if (format === 'email') return fc.emailAddress()
  if (pattern !== undefined) return textMatching(pattern)
  return anyText.map((text) => [...text].slice(0, maxLength).join('').padEnd(minLength, 'x'))
}

const matching = new Map<string, fc.Arbitrary<string>>()
function textMatching(pattern: string) {
  const text = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern))
  matching.set(pattern, text)
  return text
}

const deep = (levels: number): unknown => (levels === 0 ? [] : [deep(levels - 1)])
/** Values that are wrong almost anywhere. */
// biome-ignore format: a table of values
const poisons = [
  undefined, null, true, false,
  0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, -1e308,
  '', ' ', 'x', '\0', 'a\0b', '\ud800', '\udc00\ud800', 'a'.repeat(10_001),
  '%', '_', '\\', '%%%\\_', "'; drop table users; --", "' or 1=1 --", '$1', '{{7*7}}',
  '../../etc/passwd', '%2e%2e%2f', '00000000-0000-0000-0000-000000000000',
  '٥', '-0', '1e3', 'null',
  [], [[]], [null], deep(50), Array.from({ length: 1_001 }, () => 'x'),
  {}, { length: 1 }, { toString: 'x', valueOf: null }, { constructor: 1 },
]
export const poison = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...poisons) },
  { weight: 1, arbitrary: fc.jsonValue() },
)

/** The input with the value at one path replaced. */
export function broken(
  args: Record<string, unknown>,
  { choice, poison }: { choice: number; poison: unknown },
) {
  const paths = pathsIn(args)
  const path = paths[choice % paths.length]
  if (!path) return args
  // An object stays one, because paths are never empty.
  return replaced(args, path, poison) as Record<string, unknown>
}
const pathsIn = (value: unknown): string[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [
        [key],
        ...pathsIn(inner).map((path) => [key, ...path]),
      ])
    : []
function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by
  const copy: Record<string, unknown> = Array.isArray(value)
    ? ([...value] as never)
    : { ...Object(value) }
  copy[key] = replaced(copy[key], rest, by)
  return copy
}
