import { expect, test } from 'vitest'
import { asUser, count, limited, none, talk } from './support/limited.ts'
import { expectError } from './support/raw.ts'

const CONTENT = { text: 'hi' }
type Result = { message?: { id: string }; error?: { code: string; retryAfterSeconds: number } }

/** A world with a limit of messages, and what sends batches to a channel of it. */
async function batches(messages: number, onStatement: (statement: string) => void = () => {}) {
  const world = await limited({ rateLimits: { ...none, messages }, onStatement })
  const { ana, ben, id, send } = await talk(world)
  const sendBatch = (keys: string[], user = ana) => {
    const body = JSON.stringify({ messages: keys.map((clientId) => ({ ...CONTENT, clientId })) })
    return asUser(world, user, `/api/channels/${id}/messages/batch`, { method: 'POST', body })
  }
  return { ana, ben, id, send, sendBatch }
}
const resultsOf = ({ body }: { body: string }): Result[] => JSON.parse(body).results
const outcomesOf = (answer: { body: string }) =>
  resultsOf(answer).map(({ message, error }) => message?.id ?? error?.code)

test('a repeated batch is answered with its messages though its limit has no room', async () => {
  const { ana, send, sendBatch } = await batches(6)
  const keys = ['1', '2', '3', '4']
  const originals = outcomesOf(await sendBatch(keys))
  const repeated = await sendBatch(keys)
  expect(outcomesOf(repeated)).toEqual(originals)
  const mixed = await sendBatch([...keys, 'new', 'newer'])
  expect(outcomesOf(mixed)).toEqual([...originals, 'RATE_LIMITED', 'RATE_LIMITED'])
  expect(resultsOf(mixed).at(-1)?.error?.retryAfterSeconds).toBeGreaterThan(0)
  for (const _ of [1, 2]) expect((await send(ana, CONTENT)).status).toBe(201)
  expectError(await send(ana, CONTENT), 'RATE_LIMITED')
  expect(outcomesOf(await sendBatch(keys))).toEqual(originals)
  const over = await sendBatch(['newest', '4'])
  expect(outcomesOf(over)).toEqual(['RATE_LIMITED', originals[3]])
  expect(resultsOf(over)[0]?.error?.retryAfterSeconds).toBeGreaterThan(0)
  expectError(await sendBatch(['new', 'newer']), 'RATE_LIMITED')
})

test('a repeated batch by a removed author is FORBIDDEN even over the limit', async () => {
  const { ana, ben, id, sendBatch } = await batches(2)
  expect((await sendBatch(['a', 'b'], ben)).status).toBe(200)
  await ana.members.remove({ channelId: id, userId: 'ben' })
  expectError(await sendBatch(['a', 'b'], ben), 'FORBIDDEN')
})

test('batches over the limit are looked up about once a second, by one statement', async () => {
  const statements: string[] = []
  const { sendBatch } = await batches(2, (statement) => void statements.push(statement))
  const lookUpsOf = async (work: () => Promise<void>) => {
    statements.length = 0
    const startedAt = performance.now()
    await work()
    const windows = 1 + Math.floor((performance.now() - startedAt) / 20_000)
    const lookUps = statements.filter((statement) => statement.includes('msg.client_id = any('))
    return lookUps.length / windows
  }
  await sendBatch(['a'])
  // Their first message, which is a repeat, leaves room for that of the next one.
  const inPart = await lookUpsOf(async () => {
    for (let n = 0; n < 30; n++)
      expect(outcomesOf(await sendBatch(['a', `${n}`])).slice(1)).toEqual(['RATE_LIMITED'])
  })
  expect(inPart).toBeGreaterThan(0)
  expect(inPart).toBeLessThanOrEqual(20)
  await sendBatch(['b'])
  const asWhole = await lookUpsOf(async () => {
    const keys = Array.from({ length: 60 }, (_, n) => [`${n}`, `${n} too`])
    expect(count(await Promise.all(keys.map((each) => sendBatch(each))), 429)).toBe(60)
  })
  expect(asWhole).toBeLessThanOrEqual(20)
})
