import { acceptedBy, exampleOf, type Operation, type Parameter, serverUrl } from './documents.ts'

/** A program that calls an operation. */
export type Sample = { title: string; language: string; text: string }

export function samplesOf(operation: Operation): Sample[] {
  const accepted = acceptedBy(operation)
  const sdk = { language: 'ts' }
  return [
    { title: 'curl', language: 'sh', text: curl(operation) },
    ...(accepted.user ? [{ ...sdk, title: 'SDK', text: frontEnd(operation) }] : []),
    ...(accepted.backend || accepted.actingBackend
      ? [{ ...sdk, title: 'SDK for backends', text: backend(operation) }]
      : []),
    ...(accepted.operator ? [{ ...sdk, title: 'SDK', text: operator(operation) }] : []),
  ]
}

/** The values of the examples: what has to be given, and in the body all if nothing has to be. */
const exampleParameters = ({ parameters = [] }: Operation) =>
  parameters.filter((parameter) => parameter.in === 'path' || parameter.required)

const exampleValueOf = ({ schema }: Parameter) => schema.examples?.[0] ?? schema.default

/** The fields that are shown where those that are required are too few, or all change too much. */
const SHOWN: Record<string, readonly string[]> = {
  'apps.update': ['name'],
  'apps.updateKey': ['name'],
  'channels.create': ['type', 'name'],
  'channels.update': ['name'],
  'webhooks.update': ['description'],
}

export function exampleBodyOf({ operationId, requestBody }: Operation): unknown {
  const example = exampleOf(requestBody?.content)
  const [media] = Object.values(requestBody?.content ?? {})
  const shown = SHOWN[operationId] ?? media?.schema.required ?? []
  if (!isRecord(example) || shown.length === 0) return example
  return Object.fromEntries(shown.map((name) => [name, example[name]]))
}

const credentialLines = {
  user: ['-H "Authorization: Bearer $TOKEN"'],
  backend: ['-H "X-API-Key: $API_KEY"'],
  actingBackend: ['-H "X-API-Key: $API_KEY"', '-H "X-User-Id: ana"'],
  operator: ['-H "X-Admin-Key: $ADMIN_KEY"'],
}

function curl(operation: Operation) {
  const accepted = acceptedBy(operation)
  const kinds = ['user', 'backend', 'actingBackend', 'operator'] as const
  const kind = kinds.find((name) => accepted[name])
  const body = exampleBodyOf(operation)
  const [contentType] = Object.keys(operation.requestBody?.content ?? {})
  const text = typeof body === 'string' ? body.trim() : JSON.stringify(body)
  const method = operation.method === 'GET' ? '' : `-X ${operation.method} `
  const lines = [
    `curl ${method}'${urlOf(operation)}'`,
    ...(kind ? credentialLines[kind] : []),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: ${contentType}'`, `-d '${text.replaceAll("'", "'\\''")}'`]),
  ]
  return lines.join(' \\\n  ')
}

function urlOf(operation: Operation) {
  const values = exampleParameters(operation).map((parameter) => ({
    ...parameter,
    value: String(exampleValueOf(parameter)),
  }))
  return serverUrl + fillIn(operation.path, values)
}

/** A path with the values of its parameters, and a query with those of the others. */
export function fillIn(
  path: string,
  values: readonly (Pick<Parameter, 'name' | 'in'> & { value: string })[],
) {
  let filled = path
  const query = new URLSearchParams()
  for (const { name, in: part, value } of values) {
    if (part === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value))
    else query.append(name, value)
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}

const frontEnd = (operation: Operation) =>
  `import { createChatClient } from '@parley/client'

const chat = createChatClient({ url: '${serverUrl}', token })
${call('chat.api', operation)}`

const backend = (operation: Operation) =>
  `import { createChatServer } from '@parley/client/server'

const chat = createChatServer({ url: '${serverUrl}', apiKey })
${call(acceptedBy(operation).actingBackend ? "chat.as('ana')" : 'chat', operation)}`

const operator = (operation: Operation) =>
  `import { createApi } from '@parley/client/api'

const operator = createApi({ url: '${serverUrl}', adminKey })
${call('operator', operation)}`

function call(api: string, operation: Operation) {
  const values = exampleParameters(operation).map((parameter) => [
    parameter.name,
    exampleValueOf(parameter),
  ])
  const body = exampleBodyOf(operation)
  if (typeof body === 'string') return `await ${api}.${operation.operationId}(records)`
  const args = { ...Object.fromEntries(values), ...(isRecord(body) ? body : {}) }
  const text = Object.keys(args).length === 0 ? '' : literal(args)
  return `const result = await ${api}.${operation.operationId}(${text})`
}

const LINE_WIDTH = 60

/** A value as a programmer writes it. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const deeper = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((part) => literal(part, deeper))
    : Object.entries(value).map(([key, part]) => `${keyOf(key)}: ${literal(part, deeper)}`)
  const line = parts.join(', ')
  const [start, end] = isList ? ['[', ']'] : ['{', '}']
  if (line.length + indent.length < LINE_WIDTH && !line.includes('\n'))
    return isList ? `[${line}]` : `{ ${line} }`
  return `${start}\n${parts.map((part) => `${deeper}${part},\n`).join('')}${indent}${end}`
}

const keyOf = (key: string) => (/^[a-z_$][\w$]*$/i.test(key) ? key : literal(key))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
