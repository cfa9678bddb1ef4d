import { readFileSync, writeFileSync } from 'node:fs'
import {
  type Auth,
  BeforeSendAnswer,
  BeforeSendQuestion,
  channelEvents,
  contract,
  endpointPath,
  ephemeralChannelEvents,
  ephemeralUserEvents,
  ImportRecord,
  limits,
  type Operation,
  streamPaths,
  topics,
  userEvents,
  webhookEvents,
} from '@parley/contract'
import { z } from 'zod'

/**
 * Writes the tables of operations, `topic-names.ts`, `endpoints.ts`, `limits.ts` and `types.ts`
 * from the contract, so that the package needs neither zod nor the contract to run or to be
 * compiled. With `--check` it writes nothing, and fails if they are out of date.
 */
function generate() {
  const files = {
    'operations.ts': operationTable('operations', { description: 'All operations.' }),
    'user-operations.ts': operationTable('userOperations', {
      description: 'The operations that a user may call.',
      auths: USER_AUTHS,
    }),
    'topic-names.ts': topicNames(),
    'endpoints.ts': endpoints(),
    'limits.ts': limitsOfAnswers(),
    'types.ts': typeDeclarations(),
  }
  for (const [name, text] of Object.entries(files)) {
    const file = new URL(`../generated/${name}`, import.meta.url)
    const content = `${header}\n${text}\n`
    if (!process.argv.includes('--check')) {
      writeFileSync(file, content)
    } else if (readFileSync(file, 'utf8') !== content) {
      console.error(`client-sdk/generated/${name} is out of date: npm run client`)
      process.exitCode = 1
    }
  }
}

const header = `\
// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated`
const imports = `\
import type { CallOptions } from '../calls/call-options.ts'
import type {
  CustomAttachment,
  CustomChange,
  CustomChannel,
  CustomMember,
  CustomMessage,
  CustomUser,
} from '../custom.ts'`
const LINE_WIDTH = 100
const USER_AUTHS: readonly Auth[] = ['none', 'user', 'userOrKey']

type Json = z.core.JSONSchema.BaseSchema

const nouns = Object.entries(contract).map(
  ([noun, operations]) => [noun, Object.entries<Operation>(operations)] as const,
)

/** The routes of operations, and how their calls are counted and repeated. */
function operationTable(name: string, { description, auths }: TableOptions) {
  const chosen = nouns.flatMap(([noun, operations]) => {
    const verbs = operations.filter(([, op]) => !auths || auths.includes(op.auth))
    return verbs.length === 0 ? [] : [[noun, verbs] as const]
  })
  const routes = chosen.map(([noun, operations]) => {
    const rows = operations.map(([verb, op]) => `    ${verb}: '${routeOf(op)}',`)
    return `  ${noun}: {\n${rows.join('\n')}\n  },`
  })
  return `\
import type { OperationTable } from '../calls/calls.ts'

/** ${description} */
export const ${name}: OperationTable = {
${routes.join('\n')}
}`
}
function routeOf({ method, path, idempotent, limit = 'requests' }: Operation) {
  const repeatable = idempotent && method !== 'GET' ? '*' : ''
  return `${method}${repeatable}${limit === 'requests' ? '' : `#${limit}`} ${path}`
}
type TableOptions = { description: string; auths?: readonly Auth[] }

const topicNames = () => `\
/** The topic of a channel's events. */
export const channelTopic = (appId: string, channelId: string) =>
  \`${topics.channel(placeholder('appId'), placeholder('channelId'))}\`

/** The topic of a user's own events. */
export const userTopic = (appId: string, userId: string) =>
  \`${topics.user(placeholder('appId'), placeholder('userId'))}\``
const placeholder = (name: string) => `\${${name}}`

const endpoints = () => `\
/** Where the server accepts WebSockets. */
export const endpointPath = '${endpointPath}'

/** Where it sends what a WebSocket would, in an answer that does not end. */
export const streamPath = '${streamPaths.http_stream}'

/** Where it takes the commands that go with such an answer. */
export const emulationPath = '${streamPaths.emulation}'`

const limitsOfAnswers = () => `\
/** The most messages that are sent together. */
export const BATCH_MESSAGES = ${limits.messageBatch.messages}

/** How many channels a call fetches changes of, at most, and how many changes of one. */
export const CHANNELS_PER_CALL = ${limits.sync.channels}
export const MAX_CHANGES = ${limits.sync.changes}

/** How many channels, or threads, a call returns parts of, and how many users. */
export const PARTS_PER_CALL = ${limits.sync.rooms}
export const USERS_PER_CALL = ${limits.sync.users}

/** The most that a page of a list has. */
export const CHANNELS_PER_PAGE = ${limits.page.channels.max}
export const MEMBERS_PER_PAGE = ${limits.membersPerCall}

/** No channel reaches this rev. */
export const HIGHEST_REV = ${limits.largestInteger}

/** How many users of a reaction a message lists. */
export const REACTION_USERS = ${limits.reactionUsers}

/** How many characters of a message its quotes show. */
export const QUOTED_LENGTH = ${limits.quotedTextLength}`

function typeDeclarations() {
  const definitions: Definitions = new Map()
  const print = createPrinter(definitions)
  const apis = nouns.map(([noun, operations]) => {
    const methods = operations.map(([verb, op]) => methodType(print, verb, op))
    return `  ${noun}: {\n${methods.join('\n')}\n  }`
  })
  const parts = [
    imports,
    `/** Every operation, by noun. */\nexport interface Api {\n${apis.join('\n')}\n}`,
    picked('UserApi', 'The operations of a user.', USER_AUTHS),
    picked('ServerApi', "The operations of a customer's backend.", ['none', 'key', 'userOrKey']),
    eventMap('ChannelEvents', print, {
      description: "Events of a channel's topic.",
      schemas: { ...channelEvents, ...ephemeralChannelEvents },
    }),
    eventMap('UserEvents', print, {
      description: "Events of a user's topic.",
      schemas: { ...userEvents, ...ephemeralUserEvents },
    }),
    eventMap('WebhookEvents', print, {
      description: 'Events that webhooks are sent, with their data.',
      schemas: webhookEvents,
    }),
  ]
  // No operation names what a hook is asked, and what it answers.
  print(toJson(BeforeSendQuestion, 'output'), '')
  print(toJson(BeforeSendAnswer, 'input'), '')
  print(toJson(ImportRecord, 'input'), '')
  return [...parts, ...declarations(definitions, print)].join('\n\n')
}

/** Types with a name of their own, by name; printing a type adds those that it refers to. */
type Definitions = Map<string, Json>

function declarations(definitions: Definitions, print: Print) {
  const printed = new Map<string, string>()
  // A Map's iterator also visits the definitions that are added on the way.
  for (const [name, schema] of definitions) printed.set(name, declaration(name, schema, print))
  return [...printed].sort(([a], [b]) => a.localeCompare(b)).map(([, text]) => text)
}

function declaration(name: string, schema: Json, print: Print) {
  const type = print(schema, '')
  const declared =
    schema.type === 'object' ? `export interface ${name} ${type}` : `export type ${name} = ${type}`
  return `${comment(schema.description, '')}${declared}`
}

function methodType(print: Print, verb: string, op: Operation) {
  const input = toJson(op.input, 'input')
  const { properties = {}, required = [] } = resolve(input)
  const about = comment(`${op.description}\n\n\`${op.method} ${op.path}\``, '    ')
  const mark = required.length === 0 ? '?' : ''
  const hasFields = Object.keys(properties).length > 0
  const args = hasFields ? print(input, '    ') : 'Record<string, never>'
  const result = print(toJson(op.output, 'output'), '    ')
  return `${about}    ${verb}(args${mark}: ${args}, options?: CallOptions): Promise<${result}>`
}

/** An interface with the operations that a caller with one of these credentials may use. */
function picked(name: string, description: string, auths: readonly Auth[]) {
  const lines = nouns.flatMap(([noun, operations]) => {
    const own = operations.filter(([, { auth }]) => auths.includes(auth)).map(([verb]) => verb)
    if (own.length === 0) return []
    if (own.length === operations.length) return [`  ${noun}: Api['${noun}']`]
    return [`  ${noun}: Pick<Api['${noun}'], ${union(own)}>`]
  })
  return `/** ${description} */\nexport interface ${name} {\n${lines.join('\n')}\n}`
}

function eventMap(
  name: string,
  print: Print,
  { description, schemas }: { description: string; schemas: Record<string, z.ZodType> },
) {
  const lines = Object.entries(schemas).map(([type, schema]) => {
    const json = toJson(schema, 'output')
    return `${comment(json.description, '  ')}  '${type}': ${print(json, '  ')}`
  })
  return `/** ${description} */\nexport interface ${name} {\n${lines.join('\n')}\n}`
}

const toJson = (schema: z.ZodType, io: 'input' | 'output'): Json =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' })
const resolve = (schema: Json): Json =>
  schema.$ref ? (schema.$defs?.[definitionName(schema.$ref)] ?? {}) : schema
const definitionName = (ref: string) => ref.replace('#/$defs/', '')

type Print = (schema: Json, indent: string) => string

/** Prints a JSON schema as a type; definitions with a name of their own are collected. */
function createPrinter(definitions: Definitions): Print {
  const print: Print = (schema, indent) => {
    for (const [name, each] of Object.entries(schema.$defs ?? {}))
      if (!definitions.has(name)) definitions.set(name, each)
    const inner = (each: Json | boolean) =>
      typeof each === 'boolean' ? 'unknown' : print(each, indent)
    if (schema.$ref) return definitionName(schema.$ref)
    if (schema.enum) return schema.enum.map(literal).join(' | ')
    if (schema.const !== undefined) return literal(schema.const)
    const options = schema.anyOf ?? schema.oneOf
    // A row that is validated by itself may be anything. What callers pass is its first form.
    if (options?.some((option) => Object.keys(option).length === 0)) return inner(options[0] ?? {})
    if (options) return options.map(inner).join(' | ')
    if (schema.type === 'array')
      return `${parenthesised(inner((schema.items as Json | undefined) ?? {}))}[]`
    if (schema.type === 'object') return objectType(schema, indent, print)
    return [schema.type]
      .flat()
      .map((type) => scalars[type ?? ''] ?? 'unknown')
      .join(' | ')
  }
  return print
}

function objectType(schema: Json, indent: string, print: Print) {
  const fields = Object.entries(schema.properties ?? {})
  if (fields.length === 0) return recordType(schema.additionalProperties, indent, print)
  const lines = fields.map(([name, each]) => {
    if (typeof each === 'boolean') return ''
    const type = name === 'custom' ? customType(each) : print(each, `${indent}  `)
    const isRequired = schema.required?.includes(name)
    const field = isRequired ? `${name}: ${type}` : `${name}?: ${type} | undefined`
    return `${comment(each.description, `${indent}  `)}${indent}  ${field}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}

function recordType(values: Json['additionalProperties'], indent: string, print: Print) {
  const isTyped = typeof values === 'object' && Object.keys(values).length > 0
  return `Record<string, ${isTyped ? print(values, `${indent}  `) : 'unknown'}>`
}

/**
 * Metadata has the type that the application declares; its title is the name of the type. That of
 * users, which has none, is replaced as a whole; other metadata that may be null is a change.
 */
const customType = (schema: Json) => {
  const { title = 'CustomUser' } = schema
  if (!isNullable(schema)) return `${title} & Record<string, unknown>`
  const declared = schema.title ? `CustomChange<${title}>` : title
  return `${declared} & Record<string, unknown> | null`
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
const parenthesised = (type: string) => {
  const isOne = type.startsWith('{') || (/^\w/.test(type) && !type.includes(' | '))
  return isOne ? type : `(${type})`
}
const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))
const union = (names: string[]) => names.map(literal).join(' | ')

function comment(text: string | undefined, indent: string) {
  if (!text) return ''
  const oneLine = `${indent}/** ${text} */\n`
  if (!text.includes('\n') && oneLine.length <= LINE_WIDTH) return oneLine
  const lines = text.split('\n').flatMap((line) => wrapped(line, LINE_WIDTH - indent.length - 3))
  const body = lines.map((line) => `${indent} *${line ? ` ${line}` : ''}\n`).join('')
  return `${indent}/**\n${body}${indent} */\n`
}

/** The words of a text in lines of at most `width` characters. */
function wrapped(text: string, width: number) {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    const longer = line ? `${line} ${word}` : word
    if (longer.length > width && line) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

generate()
