import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contract, ErrorBody, errorStatus, type Operation } from '@parley/contract'
import { openApiJson } from '@parley/server/http/openapi/document'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createConsumer, nodeStyle, root } from './support/consumer.ts'
import { routesOf } from './support/routes.ts'
import { tour } from './support/tour.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

type Schema = {
  $ref?: string
  description?: string
  default?: unknown
  examples?: unknown[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}
type Content = {
  content: {
    'application/json': {
      schema: Schema
      example?: unknown
      examples?: Record<string, { value: unknown }>
    }
  }
}
type Described = {
  operationId: string
  summary?: string
  description?: string
  security: unknown
  parameters?: { name: string; in: 'path' | 'query'; description?: string; schema: Schema }[]
  requestBody?: Content
  responses: Record<string, Content & { $ref?: string }>
}
type Document = {
  info: { description: string }
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Content> }
}

const committed = readFileSync(join(root, 'openapi.json'), 'utf8')
const document: Document = JSON.parse(committed)
const operations = Object.entries<Record<string, Operation>>(contract).flatMap(([noun, group]) =>
  Object.entries(group).map(([name, op]) => [`${noun}.${name}`, op] as const),
)
const production = useWorld({ allowedOrigins: ['http://app.test'] })
const development = useWorld({ allowedOrigins: ['http://app.test'], hasDocsPage: true })

test('the committed document equals the generated and the served one', async () => {
  expect(committed).toBe(openApiJson())
  const response = await fetch(`${production().url}/openapi.json`, {
    headers: { origin: 'http://app.test' },
  })
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(response.headers.get('access-control-allow-origin')).toBe('http://app.test')
  expect(await response.text()).toBe(committed)
})

test('the introduction of the document says how often one may call', () => {
  expect(document.info.description).toMatch(
    /60 messages and make 1,000 other calls a minute\. An API key may make 1,000 calls/,
  )
})

test('the REST routes of the server and of the document are the same', () => {
  const others =
    / \/(trpc|(openapi|(docs\/)?asyncapi)\.json$|favicon\.ico$|connection\/|emulation$)/
  const live = routesOf(production().app).filter((route) => !others.test(route))
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(live.sort()).toEqual(described.sort())
})

test('everything in the document has a description and an example', () => {
  const undescribed = operations.flatMap(([id, op]) => {
    const { summary, description, parameters = [], requestBody, responses } = describedAt(op)
    return [
      ...(summary && description ? [] : [id]),
      ...parameters.flatMap(({ name, description, schema }) => [
        ...(description ? [] : [`${id} ${name}`]),
        ...gaps(schema, `${id} ${name}`),
      ]),
      ...(requestBody && op.streams === undefined
        ? gaps(schemaOf(requestBody), `${id} request`)
        : []),
      ...gaps(schemaOf(responses[op.status ?? 200]), `${id} answer`),
    ]
  })
  const components = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
    ...(schema.description ? [] : [name]),
    ...gaps(schema, name),
  ])
  expect([...undescribed, ...components]).toEqual([])
})

test.each(operations)('the examples of %s are valid', (_, op) => {
  const { parameters = [], requestBody, responses } = describedAt(op)
  for (const { name, schema } of parameters)
    for (const given of schema.examples ?? [])
      expect(z.safeParse(op.input.shape[name] ?? z.never(), given).error).toBeUndefined()
  const path = Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name, schema }) => [name, schema.examples?.[0]]),
  )
  const body = op.streams === undefined ? exampleOf(requestBody) : {}
  expect(op.input.safeParse({ ...path, ...Object(body) }).error).toBeUndefined()
  const answer = exampleOf(responses[op.status ?? 200])
  expect(op.output.strict().parse(answer)).toEqual(answer)
})

test('the examples of errors are valid and listed under the status of their code', () => {
  const refusals = operations.flatMap(([, op]) =>
    Object.entries(describedAt(op).responses).filter(([status]) => Number(status) >= 400),
  )
  const examples = refusals.flatMap(([status, answer]) =>
    Object.values(resolve(answer).content['application/json'].examples ?? {}).map(
      ({ value }) => [status, value] as const,
    ),
  )
  expect(new Set(examples.map(([, value]) => ErrorBody.strict().parse(value).error.code))).toEqual(
    // This code is for a method that no operation has.
    new Set(Object.keys(errorStatus).filter((code) => code !== 'METHOD_NOT_ALLOWED')),
  )
  for (const [status, value] of examples)
    expect(errorStatus[ErrorBody.parse(value).error.code]).toBe(Number(status))
})

test('operations of users list the refusal of a key whose scopes do not allow them', async () => {
  const { operator, appId, url } = production()
  const { apiKey } = await operator.apps.createKey({ appId, name: 'mint', scopes: ['mint'] })
  const refused = await fetch(`${url}/api/channels`, {
    headers: { 'x-api-key': apiKey, 'x-user-id': 'ana' },
  })
  expect(await refused.json()).toMatchObject({ error: { code: 'FORBIDDEN' } })
  for (const [, op] of operations.filter(([, { auth }]) => auth === 'user')) {
    const { 403: listed = { content: { 'application/json': { schema: {} } } } } =
      describedAt(op).responses
    const { examples } = resolve(listed).content['application/json']
    expect(Object.keys(examples ?? {})).toEqual(expect.arrayContaining(['FORBIDDEN']))
  }
})

/** The credentials of a user: a bearer token, or a backend that acts as them. */
const asUser = [{ bearer: [] }, { apiKey: [], userId: [] }]

test.each([
  ['service.health', [], [200, 500, 503]],
  ['service.live', [], [200, 500]],
  ['apps.create', [{ adminKey: [] }], [201, 400, 401, 413, 429, 500, 503]],
  ['tokens.create', [{ apiKey: [] }], [200, 400, 401, 403, 413, 429, 500, 503]],
  ['channels.get', [...asUser, { apiKey: [] }], [200, 401, 403, 404, 429, 500, 503]],
  ['messages.list', [...asUser, { apiKey: [] }], [200, 400, 401, 403, 404, 429, 500, 503]],
  ['messages.send', [...asUser, { apiKey: [] }], [201, 400, 401, 403, 404, 413, 429, 500, 503]],
  ['messages.edit', asUser, [200, 400, 401, 403, 404, 409, 413, 429, 500, 503]],
  ['messages.delete', [...asUser, { apiKey: [] }], [200, 401, 403, 404, 429, 500, 503]],
  ['reactions.remove', asUser, [200, 400, 401, 403, 404, 429, 500, 503]],
])('%s documents its credentials and statuses', (id, security, statuses) => {
  const described = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .find(({ operationId }) => operationId === id)
  expect(described?.security).toEqual(security)
  expect(Object.keys(described?.responses ?? {}).map(Number)).toEqual(statuses)
})

test('since_seq has no default, so generated clients do not send it', () => {
  const sinceSeq = describedAt(contract.messages.list).parameters?.find(
    ({ name }) => name === 'since_seq',
  )
  expect(sinceSeq?.schema).toBeDefined()
  expect(sinceSeq?.schema).not.toHaveProperty('default')
})

test('a client generated from the document compiles and carries out the tour', async () => {
  const consumer = createConsumer('rest.ts', ['openapi-fetch', 'openapi-typescript-helpers'])
  writeFileSync(
    join(consumer.folder, 'openapi.d.ts'),
    astToString(await openapiTypescript(committed)),
  )
  await consumer.compile(7, nodeStyle)
  expect(await consumer.run(production().url, ADMIN_KEY)).toEqual(tour)
})

test('in development /docs leads to the documentation, which offers no missing pages', async () => {
  const redirect = await fetch(`${development().url}/docs`, { redirect: 'manual' })
  expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'docs/'])
  // This server has no demo and no console.
  const demo = await fetch(`${development().url}/docs/demo.json`)
  expect([demo.status, await demo.json()]).toEqual([200, { userIds: [], hasConsole: false }])
})

test('errors below the documentation page have the usual form', async () => {
  const missing = await fetch(`${development().url}/docs/missing.js`, {
    headers: { origin: 'http://app.test' },
  })
  expect([missing.status, await missing.json()]).toEqual([
    404,
    { error: { code: 'NOT_FOUND', message: expect.any(String) } },
  ])
  expect(missing.headers.get('access-control-allow-origin')).toBe('http://app.test')
})

test.each(['/docs', '/docs/', '/docs/demo.json', '/docs/assets/index.js'])(
  'in production there is no %s',
  async (path) => {
    const response = await fetch(production().url + path)
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: { code: 'NOT_FOUND', message: expect.any(String) } },
    ])
  },
)

function describedAt({ method, path }: Operation) {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (!described) throw new Error(`${method} ${path} is not in the document`)
  return described
}

const schemaOf = (part: Content | undefined) => part?.content['application/json'].schema
const exampleOf = (part: Content | undefined) => part?.content['application/json'].example
const resolve = (answer: Described['responses'][string]) =>
  (answer.$ref
    ? document.components.responses[answer.$ref.replace('#/components/responses/', '')]
    : undefined) ?? answer

/**
 * Properties without a description and leaves without an example, in a schema. Components are
 * checked on their own.
 */
function gaps(schema: Schema | undefined, path: string): string[] {
  if (!schema) return [path]
  if (schema.$ref || schema.examples) return []
  if (schema.properties)
    return Object.entries(schema.properties).flatMap(([name, property]) => [
      ...undescribed(property, `${path}.${name}`),
      ...gaps(property, `${path}.${name}`),
    ])
  if (schema.anyOf) return gaps(schema.anyOf[0], path)
  return schema.items ? gaps(schema.items, `${path}[]`) : [path]
}
const undescribed = ({ $ref, description }: Schema, path: string) =>
  $ref || description ? [] : [path]
