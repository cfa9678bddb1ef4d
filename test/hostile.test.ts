import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { useSurvival } from './support/hostile/survival.ts'
import { ask, expectForm, json, metacharacters } from './support/hostile/wire.ts'
import { exchange } from './support/raw.ts'
import { operations } from './support/validated.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()
const expectSurvival = useSurvival(world)

const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`hostile bytes: HOSTILE_SEED=${seed}`)

test('every path answers every method without a body, with no server error', async () => {
  const headers = {
    Authorization: `Bearer ${(await world().user('eve')).token}`,
    'X-API-Key': world().apiKey,
    'X-Admin-Key': ADMIN_KEY,
  }
  for (const path of new Set(
    operations.map(([, { path }]) =>
      path.replace(/\{\w+\}/g, '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90'),
    ),
  )) {
    for (const method of [
      'GET',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
    ]) {
      for (const type of [{}, json])
        expectForm(await ask(world().url, { method, path, headers: { ...headers, ...type } }))
    }
  }
})

describe('metacharacters of SQL and LIKE', () => {
  test('metacharacters of SQL and LIKE are stored unchanged', async () => {
    const ana = await world().user('ana')
    for (const text of metacharacters) {
      const { id: channelId } = await ana.channels.create({
        type: 'group',
        name: text,
        description: text,
      })
      expect(await ana.channels.get({ channelId })).toMatchObject({ name: text, description: text })
      expect((await ana.messages.send({ channelId, text, clientId: text })).text).toBe(text)
    }
  })
  test('metacharacters of SQL and LIKE match only themselves in a search', async () => {
    const backend = await world().stranger()
    await backend.users.sync({
      users: [
        { id: 'a', name: 'a%b' },
        { id: 'b', name: 'axb' },
      ],
    })
    const { token } = await backend.tokens.create({ userId: 'a' })
    const ana = world().api({ token })
    for (const name of ['a%b', 'axb']) await ana.channels.create({ type: 'public', name })
    for (const [q, found] of [
      ['a%b', ['a%b']],
      ['a_b', []],
      ['%', ['a%b']],
      ['\\', []],
      ["'", []],
    ] as const) {
      expect((await ana.users.list({ q })).users.map(({ name }) => name)).toEqual(found)
      expect(
        (await ana.channels.list({ discover: true, q })).channels.map(({ name }) => name),
      ).toEqual(found)
    }
  })
})

test('a request with any bytes changed gets an answer or a documented refusal', async () => {
  const request = [
    ...Buffer.from(
      'GET /api/channels?q=a HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer x\r\n\r\n',
    ),
  ]
  const change = fc.record({ at: fc.nat(request.length - 1), byte: fc.nat(255), count: fc.nat(3) })
  const property = fc.asyncProperty(
    fc.array(change, { minLength: 1, maxLength: 3 }),
    async (changes) => {
      const bytes = [...request]
      for (const { at, byte, count } of changes) bytes.splice(at, count, byte)
      // A malformed request closes the connection, whatever the mutations did to the first one.
      const answers = await exchange(world().url, Buffer.from(bytes), '\r\n\r\nno request\r\n\r\n')
      expect(answers.length).toBeGreaterThan(0)
      for (const answer of answers) expectForm(answer)
    },
  )
  await fc.assert(property, { seed, numRuns: 100 })
})

test('the server works after hostile requests and has no open transaction', expectSurvival)
