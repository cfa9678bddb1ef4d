import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asyncApiJson } from '@parley/server/http/openapi/asyncapi'
import { describe, expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { wsUrlOf } from './support/realtime.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({ wsUrl: () => wsUrlOf(world()) })

describe.each(['openapi.json', 'asyncapi.json'])('for generators, %s', (name) => {
  const parts = [...partsOf(JSON.parse(readFileSync(join(root, name), 'utf8')))]
  const isNamed = (path: string) => /^components\.schemas\.\w+$/.test(path)
  const pathsOf = (found: typeof parts) => found.map(([path]) => path)
  test('names all objects and lists of values', () => {
    const inline = parts.filter(([path, part]) =>
      ('properties' in part && part.type === 'object') || Array.isArray(part.enum)
        ? !isNamed(path)
        : false,
    )
    expect(pathsOf(inline)).toEqual([])
    const names = pathsOf(parts).filter(isNamed)
    expect(names).toContain('components.schemas.Message')
    expect(names.filter((path) => /Error$|200Response/.test(path))).toEqual(
      name === 'openapi.json' ? expect.arrayContaining(['components.schemas.ApiError']) : [],
    )
    expect(names).not.toContain('components.schemas.Error')
  })
  test('gives scalars that may be null two types', () => {
    const scalars = parts.filter(
      ([, { anyOf }]) =>
        Array.isArray(anyOf) &&
        anyOf.some(({ type }) => type === 'null') &&
        anyOf.some(({ type }) => typeof type === 'string' && type !== 'null'),
    )
    expect(pathsOf(scalars)).toEqual([])
    const [, parentId] = parts.find(([path]) => path.endsWith('.Message.properties.parentId')) ?? []
    expect(parentId).toMatchObject({
      type: ['string', 'null'],
      format: 'uuid',
      description: 'For a reply: the root message of its thread.',
    })
  })
  test('says of integers how many bits they need', () => {
    const integers = parts.filter(([, { type }]) => [type].flat().includes('integer'))
    expect(integers.length).toBeGreaterThan(20)
    for (const [path, { format, maximum = Number.POSITIVE_INFINITY }] of integers)
      if (!path.startsWith('components.headers'))
        expect([path, format]).toEqual([path, Number(maximum) < 2 ** 31 ? 'int32' : 'int64'])
  })
})

test('asyncapi.json says where its server is, and names its payloads', async () => {
  const response = await fetch(`${world().url}/asyncapi.json`)
  const served: AsyncDocument = JSON.parse(await response.text())
  const { host, pathname, protocol } = new URL(wsUrlOf(world()))
  expect(served.servers.endpoint).toMatchObject({ host, pathname, protocol: protocol.slice(0, -1) })
  for (const [name, { payload }] of Object.entries(served.components.messages))
    expect(payload).toEqual({
      $ref: `#/components/schemas/${name.replace('UserChannel', 'Channel')}`,
    })
  expect(Object.keys(served.components.schemas)).toEqual(
    expect.arrayContaining(['MessageNew', 'MessageNewPayload', 'ChannelMemberJoined']),
  )
})

test('asyncapi.json says where every transport is, also below a path and behind TLS', async () => {
  const at = (wsUrl?: string) => {
    const { servers }: AsyncDocument = JSON.parse(asyncApiJson(wsUrl))
    return Object.values(servers).map(
      ({ protocol, host, pathname }) => `${protocol}://${host}${pathname}`,
    )
  }
  const transports = (base: string) => [
    `${base.replace(/^http/, 'ws')}/connection/websocket`,
    `${base}/connection/http_stream`,
    `${base}/connection/sse`,
  ]
  const base = 'https://chat.example.com/parley'
  expect(at('wss://chat.example.com/parley/connection/websocket')).toEqual(transports(base))
  expect(at()).toEqual(transports('http://127.0.0.1:5501'))
  for (const path of ['/asyncapi.json', '/docs/asyncapi.json']) {
    const served = await fetch(world().url + path)
    expect(await served.text()).toBe(asyncApiJson(wsUrlOf(world())))
  }
})

test('asyncapi.json has whole examples of its events', () => {
  const { components }: AsyncDocument = JSON.parse(
    readFileSync(join(root, 'asyncapi.json'), 'utf8'),
  )
  const names = Object.entries(components.messages).flatMap(([name, { examples }]) =>
    JSON.stringify(examples).includes('{}') ? [name] : [],
  )
  expect(names).toEqual([])
})

test('integers that are too large for the document are refused as such', async () => {
  const ana = await world().user('ana')
  const headers = { authorization: `Bearer ${ana.token}` }
  const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8'))
  const [{ schema }] = document.paths['/api/users'].get.parameters
  expect(schema).toMatchObject({ type: 'integer', format: 'int64', maximum: 2 ** 53 - 1 })
  const get = (limit: string) => fetch(`${world().url}/api/users?limit=${limit}`, { headers })
  expect((await get(String(2 ** 53 - 1))).status).toBe(200)
  expect(await (await get('488049585129745154048')).json()).toEqual({
    error: {
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/^limit: Too big: expected int to be <=?9007199254740991$/),
    },
  })
})

type AsyncDocument = {
  servers: Record<'endpoint', { protocol: string; host: string; pathname: string }>
  components: { messages: Record<string, { payload: object; examples: object[] }>; schemas: object }
}
type Part = Record<string, unknown> & { anyOf?: { type?: string }[] }
/** The objects in a document with the path to each, but for those in examples. */
function* partsOf(part: unknown, path: string[] = []): Generator<[string, Part]> {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) yield [path.join('.'), part as Part]
  for (const [key, inner] of Object.entries(part))
    if (key !== 'example' && key !== 'examples') yield* partsOf(inner, [...path, key])
}
