import { type Operation, pathParameters } from '@parley/contract'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createFixtures, withIds } from '../support/hostile/fixture.ts'
import { plainRequest } from '../support/hostile/requests.ts'
import { useSurvival } from '../support/hostile/survival.ts'
import {
  ask,
  expectForm,
  hasBody,
  headersOf,
  json,
  metacharacters,
  percent,
  toText,
} from '../support/hostile/wire.ts'
import { expectError } from '../support/raw.ts'
import { operations } from '../support/validated.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const expectSurvival = useSurvival(world)
// Requests without a body are refused here, or they read. Few others change who may do what.
const fixtureOf = createFixtures(
  world,
  (op, id) =>
    !hasBody(op) || !/\.(bulkDelete|delete|remove|leave|revoke|accept|update|finish)/.test(id),
)

/**
 * An operation with valid input and credentials, and ways to vary its request. The tests of an
 * operation share one fixture.
 */
async function trial(id: string, op: Operation) {
  const fixture = await fixtureOf(id, op)
  const args = withIds(plainRequest(id, op).args, fixture)
  const headers = headersOf(fixture.credentials[op.auth][0] ?? {})
  const pathWith = (parts: Record<string, string>) =>
    op.path.replace(/\{(\w+)\}/g, (_, name: string) => parts[name] ?? percent(toText(args[name])))
  const inBody = Object.fromEntries(
    Object.entries(args).filter(([name]) => !pathParameters(op.path).includes(name)),
  )
  const send = ({ parts = {}, body, query = '', method = op.method, type = json }: Variation) =>
    ask(world().url, {
      method,
      path: pathWith(parts) + query,
      headers: { ...headers, ...(hasBody(op) ? type : {}) },
      ...(hasBody(op) && { body: body ?? JSON.stringify(inBody) }),
    })
  return { args, inBody, send }
}
type Variation = {
  parts?: Record<string, string>
  body?: string
  query?: string
  method?: string
  type?: Record<string, string>
}

const withBody = operations.filter(([, op]) => hasBody(op))
const withPath = operations.filter(([, { path }]) => path.includes('{'))
const ownFields = (op: Operation) =>
  Object.keys(op.input.shape).filter((name) => !pathParameters(op.path).includes(name))
// biome-ignore format: a table of values
const wrong = [
  null, true, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, -1e308,
  '', '\0', '\ud800', 'x'.repeat(10_001), '00000000-0000-0000-0000-000000000000',
  ...metacharacters,
  [], [null], [[]], {}, { length: 1 },
]

/** Nearly as deep as a body may be, which has at most 21,845 values. */
const deep = '['.repeat(20_000) + ']'.repeat(20_000)

test.each(withBody)(
  '%s: a value of the wrong type in any field is refused by the name of the field',
  async (id, op) => {
    const { args, inBody, send } = await trial(id, op)
    for (const field of ownFields(op)) {
      const values = wrong.map((value) => ({
        value,
        sent: JSON.stringify({ ...inBody, [field]: value }),
      }))
      for (const { value, sent } of values) {
        const answer = await send({ body: sent })
        expectForm(answer)
        if (!op.input.safeParse({ ...args, [field]: value }).success)
          expect(expectError(answer, 'VALIDATION_ERROR')).toMatch(new RegExp(`(^|; )${field}[.:]`))
      }
      const isAnything = z.safeParse(op.input.shape[field] ?? z.never(), [[]]).success
      const nested = await send({
        body: JSON.stringify({ ...inBody, [field]: 0 }).replace(
          `"${field}":0`,
          () => `"${field}":${deep}`,
        ),
      })
      if (!isAnything) expectError(nested, 'VALIDATION_ERROR')
    }
  },
)

test.each(withBody)(
  '%s: malformed, deeply nested and mistyped bodies are refused',
  async (id, op) => {
    const { inBody, send } = await trial(id, op)
    const text = JSON.stringify(inBody)
    const spoiled = [
      text.replace('{', `{"__proto__":{"admin":true}${text === '{}' ? '' : ','}`),
      deep,
      `${text}x`,
      '[]',
      '"x"',
      ' ',
    ]
    for (const body of spoiled) expectError(await send({ body }), 'VALIDATION_ERROR')
    for (const type of [
      'text/plain',
      'application/xml',
      'application/json-patch+json',
      'multipart/form-data',
    ])
      expect(
        expectError(await send({ body: text, type: { 'Content-Type': type } }), 'VALIDATION_ERROR'),
      ).toBe('body: expected Content-Type: application/json')
    expectForm(await send({ body: `{"nothing":${deep}}` }))
  },
)

test.each(
  operations.filter(([id]) =>
    ['tokens.create', 'users.sync', 'messages.send', 'messages.sendBatch'].includes(id),
  ),
)('%s: a body of 10 MB is PAYLOAD_TOO_LARGE', async (id, op) => {
  const { send } = await trial(id, op)
  expectError(await send({ body: `{"text":"${'x'.repeat(10_000_000)}"}` }), 'PAYLOAD_TOO_LARGE')
})

test('custom data nested too deeply is refused without recursion', async () => {
  const headers = { 'X-API-Key': world().apiKey, ...json }
  const body = `{"userId":"eve","custom":{"a":${deep}}}`
  expect(
    expectError(
      await ask(world().url, { method: 'POST', path: '/tokens', headers, body }),
      'VALIDATION_ERROR',
    ),
  ).toBe('custom: expected at most 20 levels')
  const rows = `{"users":[{"id":"eve","custom":{"a":${deep}}},${deep}]}`
  expect(
    JSON.parse(
      (await ask(world().url, { method: 'POST', path: '/api/users/sync', headers, body: rows }))
        .body,
    ),
  ).toMatchObject({
    synced: 0,
    errors: [{ id: 'eve' }, { id: null }],
  })
})

test.each(withPath)('%s: a malformed id in its path is not found', async (id, op) => {
  const { send } = await trial(id, op)
  const ids = [
    'x',
    '%00',
    '%2e%2e',
    '..',
    '..%2f..',
    '%2F',
    '%27%20or%201%3D1--',
    '%25',
    '%5c',
    '-1',
    '99999999999999999999',
    '%F0%9F%98%80',
    '019c9b1f',
    '*',
    '%7B%7D',
    '%20',
  ]
  for (const name of pathParameters(op.path)) {
    const isUuid =
      z.safeParse(op.input.shape[name] ?? z.never(), '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90')
        .success && !z.safeParse(op.input.shape[name] ?? z.never(), 'x').success
    for (const part of ids) {
      const answer = await send({ parts: { [name]: part } })
      if (isUuid) expectError(answer, 'NOT_FOUND')
      else expectForm(answer)
    }
  }
})

test.each(operations.filter(([, op]) => !hasBody(op) && ownFields(op).length > 0))(
  '%s: a query of arbitrary values causes no server error',
  async (id, op) => {
    const { send } = await trial(id, op)
    for (const field of ownFields(op))
      for (const value of wrong)
        expectForm(await send({ query: `?${field}=${percent(toText(value))}` }))
  },
)

test('the server works after hostile input and has no open transaction', expectSurvival)
