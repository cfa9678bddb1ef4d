import { readFileSync, writeFileSync } from 'node:fs'
import {
  channelEvents,
  contract,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  errorStatus,
  type Operation,
  userEvents,
} from '@parley/contract'
import { z } from 'zod'

/**
 * Writes `operations.ts` and `types.ts` from the contract, so that the package needs neither zod nor the contract to run
 * or to be compiled. With `--check` it only tells whether they are up to date.
 */
const header =
  '// Generated from the contract by generate.ts: do not edit.\n// biome-ignore-all format: as generated\n// biome-ignore-all lint: as generated'
function write() {
  const files = { 'operations.ts': operationTable(), 'types.ts': typeDeclarations() }
  for (const [name, text] of Object.entries(files)) {
    const file = new URL(name, import.meta.url)
    if (!process.argv.includes('--check')) writeFileSync(file, text)
    else if (readFileSync(file, 'utf8') !== text) {
      console.error(`client-sdk/${name} is out of date: npm run client`)
      process.exitCode = 1
    }
  }
}

type Json = z.core.JSONSchema.BaseSchema
type Groups = [string, [string, Operation][]][]

function operationTable() {
  const lines = groups().map(([group, operations]) => {
    const rows = operations.map(([name, { method, path }]) => `    ${name}: '${method} ${path}',`)
    return `  ${group}: {\n${rows.join('\n')}\n  },`
  })
  return `${header}\n/** Where each operation is found. */\nexport const operations = {\n${lines.join('\n')}\n} as const\n`
}

function typeDeclarations() {
  const named = new Map<string, Json>()
  const print = printer(named)
  const apis = groups().map(
    ([group, operations]) =>
      `  ${group}: {\n${operations.map(([name, op]) => method(print, name, op)).join('\n')}\n  }`,
  )
  const events = [
    eventMap(
      'ChannelEvents',
      { print, schemas: { ...channelEvents, ...ephemeralChannelEvents } },
      'What is published to a channel.',
    ),
    eventMap(
      'UserEvents',
      { print, schemas: { ...userEvents, ...ephemeralUserEvents } },
      'What is published to a user.',
    ),
  ]
  const parts = [
    "import type { CallOptions } from './call-options.ts'\nimport type { CustomUser } from './custom.ts'",
    `/** Why the server refused. */\nexport type ErrorCode = ${union(Object.keys(errorStatus))}`,
    `/** Every operation, by noun. */\nexport interface Api {\n${apis.join('\n')}\n}`,
    picked('UserApi', 'The operations of a user.', ['none', 'user', 'userOrKey']),
    picked('ServerApi', "The operations of a customer's backend.", ['none', 'key', 'userOrKey']),
    ...events,
  ]
  // Printing the named ones may bring up others.
  const printed = new Map<string, string>()
  for (let before = -1; before < printed.size; ) {
    before = printed.size
    for (const [name, schema] of named)
      if (!printed.has(name)) printed.set(name, declaration(name, { schema, print }))
  }
  const declarations = [...printed].sort(([a], [b]) => a.localeCompare(b)).map(([, text]) => text)
  return `${header}\n${[...parts, ...declarations].join('\n\n')}\n`
}

function groups(): Groups {
  return Object.entries(contract).map(([group, operations]) => [
    group,
    Object.entries<Operation>(operations),
  ])
}

type Print = (schema: Json, indent: string, io?: 'input' | 'output') => string

function method(print: Print, name: string, op: Operation) {
  const input = toJson(op.input, 'input')
  const { properties = {}, required = [] } = input.$ref ? named(input) : input
  const fields = Object.keys(properties)
  const isOptional = required.length === 0
  const args =
    fields.length === 0
      ? 'args?: Record<string, never>'
      : `args${isOptional ? '?' : ''}: ${print(input, '    ', 'input')}`
  return `${comment(`${op.description}\n\n\`${op.method} ${op.path}\``, '    ')}    ${name}(${args}, options?: CallOptions): Promise<${print(toJson(op.output, 'output'), '    ')}>`
}

const named = ({ $ref = '', $defs }: Json): Json => $defs?.[$ref.replace('#/$defs/', '')] ?? {}

function picked(name: string, description: string, auths: string[]) {
  const lines = groups().flatMap(([group, operations]) => {
    const own = operations.filter(([, { auth }]) => auths.includes(auth)).map(([each]) => each)
    if (own.length === 0) return []
    return own.length === operations.length
      ? [`  ${group}: Api['${group}']`]
      : [`  ${group}: Pick<Api['${group}'], ${union(own)}>`]
  })
  return `/** ${description} */\nexport interface ${name} {\n${lines.join('\n')}\n}`
}

function eventMap(
  name: string,
  { print, schemas }: { print: Print; schemas: Record<string, z.ZodType> },
  description: string,
) {
  const lines = Object.entries(schemas).map(([type, schema]) => {
    const json = toJson(schema, 'output')
    return `${comment(json.description, '  ')}  '${type}': ${print(json, '  ')}`
  })
  return `/** ${description} */\nexport interface ${name} {\n${lines.join('\n')}\n}`
}

const declaration = (name: string, { schema, print }: { schema: Json; print: Print }) =>
  `${comment(schema.description, '')}${schema.type === 'object' ? `export interface ${name} ${print(schema, '')}` : `export type ${name} = ${print(schema, '')}`}`

const toJson = (schema: z.ZodType, io: 'input' | 'output'): Json =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' })

/** Prints a JSON schema as a type; definitions with a name of their own are collected. */
function printer(named: Map<string, Json>): Print {
  const print: Print = (schema, indent, io = 'output') => {
    for (const [name, each] of Object.entries(schema.$defs ?? {}))
      if (!named.has(name)) named.set(name, each)
    const inner = (each: Json | boolean) =>
      typeof each === 'boolean' ? 'unknown' : print(each, indent, io)
    if (schema.$ref) return schema.$ref.replace('#/$defs/', '')
    if (schema.enum) return schema.enum.map((value) => literal(value)).join(' | ')
    if (schema.const !== undefined) return literal(schema.const)
    const options = schema.anyOf ?? schema.oneOf
    // A row that is judged by itself may be anything; what callers pass is its first form.
    if (options?.some((option) => Object.keys(option).length === 0)) return inner(options[0] ?? {})
    if (options) return options.map(inner).join(' | ')
    if (schema.type === 'array')
      return `${parenthesised(inner((schema.items as Json | undefined) ?? {}))}[]`
    if (schema.type === 'object')
      return object(schema, { indent, inner: (each, name) => field(each, name) })
    return [schema.type]
      .flat()
      .map((type) => scalars[type ?? ''] ?? 'unknown')
      .join(' | ')

    function field(each: Json, name: string) {
      return name === 'custom'
        ? `CustomUser & Record<string, unknown>${isNullable(each) ? ' | null' : ''}`
        : print(each, `${indent}  `, io)
    }
  }
  return print
}

function object(
  schema: Json,
  { indent, inner }: { indent: string; inner: (each: Json, name: string) => string },
) {
  const fields = Object.entries(schema.properties ?? {})
  if (fields.length === 0) {
    const values = schema.additionalProperties
    return `Record<string, ${typeof values === 'object' && Object.keys(values).length > 0 ? inner(values, '') : 'unknown'}>`
  }
  const lines = fields.map(([name, each]) => {
    if (typeof each === 'boolean') return ''
    const isOptional = !schema.required?.includes(name)
    const type = inner(each, name)
    return `${comment(each.description, `${indent}  `)}${indent}  ${name}${isOptional ? '?' : ''}: ${type}${isOptional ? ' | undefined' : ''}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}

const isNullable = (schema: Json) =>
  (schema.anyOf ?? []).some((option) => typeof option === 'object' && option.type === 'null')
const scalars: Record<string, string> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}
const parenthesised = (type: string) =>
  /^[\w{]/.test(type) && !type.includes(' | ') ? type : type.startsWith('{') ? type : `(${type})`
const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))
const union = (names: string[]) => names.map(literal).join(' | ')

function comment(text: string | undefined, indent: string) {
  if (!text) return ''
  const lines = text.split('\n')
  if (lines.length === 1) return `${indent}/** ${text} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} *${line ? ` ${line}` : ''}`).join('\n')}\n${indent} */\n`
}

write()
