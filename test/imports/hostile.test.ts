import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { broken, poison } from '../support/hostile/requests.ts'
import { useWorld } from '../support/world.ts'
import { at, channel, expectExactCounters, member, message, post, user } from './records.ts'

const world = useWorld()
const seed = Number(process.env.HOSTILE_SEED ?? 1)
const numRuns = Number(process.env.RUNS ?? 25)

const mark = { userId: 'ben', createdAt: at(4) }
/** A small history, which is imported as it is. */
const records: object[] = [
  user('ana', { name: 'Ana', custom: { plan: { since: [2024] } } }),
  user('ben'),
  channel('room', { createdBy: 'ana', custom: { floor: 2 } }),
  channel('hall', { type: 'public' }),
  channel('pair', { type: 'messaging', name: undefined, memberIds: ['ana', 'ben'] }),
  member('room', 'ana', { role: 'owner', custom: { desk: 7 } }),
  member('room', 'ben'),
  message('m1', 'room', { createdAt: at(3), custom: { mood: 'hungry' } }),
  message('m2', 'room', { createdAt: at(3), parentId: 'm1', userId: 'ben' }),
  message('m3', 'room', { createdAt: at(2), quotedMessageId: 'm1', silent: true }),
  message('m4', 'hall', { userId: undefined, type: 'system' }),
  message('m5', 'pair', {
    text: '',
    attachments: [{ type: 'image', url: 'https://example.com/a.png', custom: { camera: 1 } }],
    editedAt: at(9),
  }),
  { record: 'reaction', messageId: 'm1', emoji: '👍', ...mark },
  { record: 'pin', messageId: 'm1', ...mark },
  { record: 'read', channelId: 'room', messageId: 'm3', ...mark },
]
const strange = [
  ...['', ' ', '{', '{}', '[]', 'null', '"\ud800"', '\0', '\ufeff{}', '['.repeat(50_000)],
  ...['{"record":"user","id":"ana","__proto__":{"admin":true}}', '{"record":"__proto__"}'],
  ...[`{"record":"user","id":"deep","custom":${'{"a":'.repeat(30)}1${'}'.repeat(30)}}`],
]

const damage = fc.record({ at: fc.nat(), choice: fc.nat(), poison })
const line = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...records).map((record) => JSON.stringify(record)) },
  { weight: 2, arbitrary: fc.constantFrom(...strange) },
  {
    weight: 6,
    arbitrary: damage.map(({ at, ...rest }) =>
      JSON.stringify(broken({ ...records[at % records.length] }, rest)),
    ),
  },
)
/** The history with lines of it changed, repeated and out of order, or cut off. */
const file = fc.record({
  before: fc.array(line, { maxLength: 12 }),
  after: fc.array(line, { maxLength: 12 }),
  isWhole: fc.boolean(),
  cut: fc.nat({ max: 30 }),
})

/** Empty lines are no records. */
const isRead = (line: string) => !/^\s*$/.test(line)

test('an import of any lines answers, keeps counters exact and ends', async () => {
  const property = fc.asyncProperty(file, async ({ before, after, isWhole, cut }) => {
    const { operator, url, db } = world()
    const { id: appId, apiKey } = await operator.apps.create({ name: 'Hostile' })
    const whole = isWhole ? records.map((record) => JSON.stringify(record)) : []
    const text = [...before, ...whole, ...after].map((line) => `${line}\n`).join('')
    const first = await post({ url, apiKey }, text.slice(0, text.length - cut))
    expect(first.status).toBe(200)
    // A record that refers to a later line is imported by the next run.
    for (let runs = 0, imported = 1; imported > 0; runs++) {
      if (runs > 8) throw new Error('each run imports something')
      const { status, body } = await post({ url, apiKey }, text)
      expect(status).toBe(200)
      const all = [...Object.values(body.imported), ...Object.values(body.skipped), body.refused]
      const counted = all.reduce((sum: number, count) => sum + Number(count), 0)
      expect(counted).toBeGreaterThanOrEqual(text.split('\n').filter(isRead).length)
      imported = Object.values(body.imported).reduce<number>((sum, n) => sum + Number(n), 0)
    }
    await expectExactCounters({ db, appId })
  })
  await fc.assert(property, { seed, numRuns })
})

test('a compressed file is refused as a whole, with the reason', async () => {
  const { operator, url } = world()
  const { apiKey } = await operator.apps.create({ name: 'Compressed' })
  for (const file of [`${JSON.stringify(user('ana'))}\n`, randomBytes(4 * 1024 * 1024)]) {
    const response = await fetch(`${url}/import`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
      body: gzipSync(file),
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { code: 'VALIDATION_ERROR', message: 'body: expected no Content-Encoding' } },
    ])
  }
})
