import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'
import { whileLocked } from '../support/locks.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { onStatement, statementsOf } from '../support/statements.ts'
import { useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

// Only the statements of a batch are counted, however long it takes.
const timings = { ...quietTimings, brokerBeatMs: NEVER }
const world = useWorld({ onStatement, timings })
const newTalk = talkIn(world)
const draft = (n: number, more: object = {}) => ({ text: `${n}`, clientId: `key-${n}`, ...more })
const codes = ({ results }: { results: { error?: { code: string } | undefined }[] }) =>
  results.map(({ error }) => error?.code ?? 'sent')

test('the messages of a batch are stored once each, and in their order', async () => {
  const { ana, ben, channelId, say } = await newTalk()
  const root = await say('root')
  const given = upTo(50).map((n) => draft(n, n === 50 ? { parentId: root.id } : {}))
  const [one, two] = await Promise.all([
    ana.messages.sendBatch({ channelId, messages: given }),
    ana.messages.sendBatch({ channelId, messages: given }),
  ])
  expect(one.results.map(({ message }) => message?.id)).toEqual(
    two.results.map(({ message }) => message?.id),
  )
  const { messages } = await ben.messages.list({ channelId, after: root.id })
  expect(messages.map(({ text }) => text)).toEqual(given.map(({ text }) => text))
  expect(messages.at(-1)?.parentId).toBe(root.id)
  expect((await ben.channels.get({ channelId })).unreadCount).toBe(51)
})

test('a message of a batch that is refused, or is nonsense, refuses no other', async () => {
  const { ana, ben, channelId } = await newTalk()
  const parentId = '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90'
  const messages = [
    draft(1),
    draft(2, { text: '' }),
    draft(3, { parentId }),
    draft(4, { type: 'system' }),
    7 as never,
    { text: 'without a key' } as never,
    draft(7),
  ]
  const sent = await ana.messages.sendBatch({ channelId, messages })
  expect(codes(sent)).toEqual([
    'sent',
    'VALIDATION_ERROR',
    'NOT_FOUND',
    'FORBIDDEN',
    'VALIDATION_ERROR',
    'VALIDATION_ERROR',
    'sent',
  ])
  expect(sent.results[1]?.error?.message).toBe(
    'text: expected at least 1 character, or an attachment',
  )
  const stored = (await ben.messages.list({ channelId })).messages
  expect(stored.map(({ text }) => text)).toEqual(['1', '7'])
})

test('a batch may be larger than other bodies', async () => {
  const { ana, ben, channelId } = await newTalk()
  const given = upTo(30).map((n) => draft(n, { text: 'x'.repeat(limits.textLength) }))
  const { results } = await ana.messages.sendBatch({ channelId, messages: given })
  expect(codes({ results })).toEqual(given.map(() => 'sent'))
  expect((await ben.channels.get({ channelId })).unreadCount).toBe(30)
})

test('a batch has 1 to 50 messages, of callers who may see the channel', async () => {
  const { ana, cem, channelId } = await newTalk()
  const send = (count: number, by = ana) =>
    refusal(by.messages.sendBatch({ channelId, messages: upTo(count).map((n) => draft(n)) }))
  expect(await send(0)).toEqual(invalid)
  expect(await send(limits.messageBatch.messages + 1)).toEqual(invalid)
  expect(await send(2, cem)).toEqual(forbidden)
  const unknown = { channelId: channelId.replace(/^./, 'f'), messages: [draft(1)] }
  expect(await refusal(ana.messages.sendBatch(unknown))).toEqual(notFound)
  expect((await ana.messages.list({ channelId })).messages).toEqual([])
})

test('the first batch in a public channel makes its author a member', async () => {
  const { cem, channelId } = await newTalk('public')
  const given = upTo(30).map((n) => draft(n))
  const sent = await cem.messages.sendBatch({ channelId, messages: given })
  expect(sent.results.map(({ message }) => [message?.seq, message?.text])).toEqual(
    given.map(({ text }, index) => [index + 1, text]),
  )
})

test('a batch of 50 messages takes at most half a statement for each', async () => {
  const { ana, channelId } = await newTalk()
  const sendAll = (prefix: string) =>
    ana.messages.sendBatch({
      channelId,
      messages: upTo(50).map((n) => ({ text: `${n}`, clientId: `${prefix}-${n}` })),
    })
  await sendAll('first')
  const statements = await statementsOf(() => sendAll('second'))
  // One checks the right to read. The first message of each half starts, and the others share.
  expect(statements.length).toBeLessThanOrEqual(1 + 2 * 2 * 6)
})

test('a batch and a message wait for a locked channel together, on one connection', async () => {
  const { ana, ben, channelId } = await newTalk()
  const { sent } = await whileLocked(world(), channelId, async (waiting) => {
    const batch = ana.messages.sendBatch({ channelId, messages: upTo(10).map((n) => draft(n)) })
    await waiting(1)
    const message = ben.messages.send({ channelId, text: 'after it' })
    // It has come by the time that these later calls are answered.
    for (const _ of upTo(5)) await ben.channels.list()
    await waiting(1)
    return { sent: Promise.all([batch, message]) }
  })
  const [{ results }, last] = await sent
  expect([...results.map(({ message }) => message?.seq), last.seq]).toEqual(upTo(11))
})
