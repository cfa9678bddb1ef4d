/** Refers to a component, which with a description of its own is all of one. */
type Ref = { $ref?: string; allOf?: Ref[] }
/** The part of JSON Schema that the documents use. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  allOf?: Ref[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  /** Of text: what is in it. */
  contentSchema?: Schema
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  examples?: unknown[]
}
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}
export type MediaContent = Record<
  string,
  { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
>
export type Answer = { $ref?: string; description?: string; content?: MediaContent }
export type SecurityScheme = 'bearer' | 'apiKey' | 'userId' | 'adminKey'

type Body = { required?: boolean; content: MediaContent }

export type Operation = {
  operationId: string
  method: string
  path: string
  summary: string
  description?: string
  tags: string[]
  security: Partial<Record<SecurityScheme, []>>[]
  parameters?: Parameter[]
  requestBody?: Body
  responses: Record<string, Answer>
}
export type EventMessage = {
  name: string
  summary: string
  description?: string
  payload: Schema
  examples: { payload: unknown }[]
}
export type TopicDoc = {
  id: string
  title: string
  address: string
  description: string
  events: EventMessage[]
}
/** The two documents of the server, and the users whose tokens it gives to this page. */
export type Documents = {
  version: string
  description: string
  nouns: { name: string; description: string; operations: Operation[] }[]
  topics: TopicDoc[]
  demoUserIds: string[]
  hasConsole: boolean
  resolve: <T extends Ref>(part: T) => T
}

/** The server's address: the folder above this page. */
export const serverUrl = new URL('..', location.href.split('#')[0]).href.replace(/\/$/, '')

type OpenApi = {
  info: { version: string; description: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> }
}
type AsyncApi = {
  channels: Record<
    string,
    Omit<TopicDoc, 'id' | 'events'> & { messages: Record<string, { $ref: string }> }
  >
  components: { messages: Record<string, EventMessage>; schemas: Record<string, Schema> }
}

export async function loadDocuments(): Promise<Documents> {
  const [openApi, asyncApi, demo] = await Promise.all([
    load<OpenApi>('../openapi.json'),
    load<AsyncApi>('asyncapi.json'),
    load<{ userIds: string[]; hasConsole: boolean }>('demo.json'),
  ])
  // Names are the same in both documents where they have the same schema.
  const components = {
    ...openApi.components,
    schemas: { ...asyncApi.components.schemas, ...openApi.components.schemas },
  }
  const resolve: Documents['resolve'] = (part) => ({
    ...part,
    ...componentOf(components, refOf(part)),
  })
  const operations = Object.entries(openApi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, rest]) => ({
      ...rest,
      path,
      method: method.toUpperCase(),
      ...(rest.requestBody && { requestBody: withFields(rest.requestBody, resolve) }),
    })),
  )
  return {
    ...openApi.info,
    nouns: openApi.tags.map((tag) => ({
      ...tag,
      operations: operations.filter(({ tags }) => tags.includes(tag.name)),
    })),
    topics: Object.entries(asyncApi.channels).map(([id, { messages, ...topic }]) => ({
      ...topic,
      id,
      events: Object.keys(messages).flatMap((key) => asyncApi.components.messages[key] ?? []),
    })),
    demoUserIds: demo.userIds,
    hasConsole: demo.hasConsole,
    resolve,
  }
}

/** A body with the fields of its schema, which is a component. */
function withFields(body: Body, resolve: Documents['resolve']): Body {
  const entries = Object.entries(body.content)
  const content = entries.map(([type, { schema, ...rest }]) => [
    type,
    { ...rest, schema: resolve(schema) },
  ])
  return { ...body, content: Object.fromEntries(content) }
}

/** The component that `#/components/schemas/Message` refers to. */
function componentOf({ schemas, responses }: OpenApi['components'], ref: string | undefined) {
  const [, , kind, name = ''] = ref?.split('/') ?? []
  return kind === 'responses' ? responses[name] : schemas[name]
}

async function load<T>(path: string): Promise<T> {
  const response = await fetch(path)
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  return response.json() as Promise<T> // documents of our own server, of this version
}

/** The name of the component that a schema refers to. */
export const nameOf = (schema: Schema) => refOf(schema)?.split('/').at(-1)

const refOf = ({ $ref, allOf }: Ref) => $ref ?? allOf?.[0]?.$ref

/** The first example of a content, of whatever media type. */
export function exampleOf(content: MediaContent | undefined): unknown {
  const [media] = Object.values(content ?? {})
  const [named] = Object.values(media?.examples ?? {})
  return media?.example ?? named?.value
}

/** Whether a credential of each of these kinds, alone, suffices. */
export const acceptedBy = ({ security }: Operation) => ({
  user: security.some(({ bearer }) => bearer),
  backend: security.some(({ apiKey, userId }) => apiKey && !userId),
  actingBackend: security.some(({ userId }) => userId),
  operator: security.some(({ adminKey }) => adminKey),
})
