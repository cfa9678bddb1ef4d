import { createChatServer } from '@parley/client/server'
import { expect, test } from 'vitest'
import { examplesOf, runExamples } from './support/examples.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('the examples for backends work as they are', async () => {
  const { url, apiKey } = world()
  const given = { createChatServer, url, apiKey }
  const results = await runExamples(examplesOf('docs/backends.md'), given, [
    'channel',
    'answer',
    'updated',
    'quote',
    'support',
    'note',
  ])
  const { channel, answer, updated, quote, support, note } = results
  const ben = world().api({ apiKey, userId: 'ben' })
  const { messages } = await ben.messages.list({ channelId: channel.id })
  expect(messages.map(({ userId, text }) => [userId, text])).toEqual([
    ['order-bot', 'Your order is on its way.'],
    ['ben', 'Thanks!'],
    ['order-bot', 'Packed.'],
    ['order-bot', 'Is this the one?'],
    ['ben', 'It is!'],
    ['order-bot', 'Still packing.'],
  ])
  expect(messages[3]?.attachments).toMatchObject([
    { type: 'image', width: 640, size: 52_480 },
    { type: 'audio', durationMs: 12_500 },
  ])
  expect(quote.quotedMessage).toMatchObject({ text: 'Is this the one?', attachmentCount: 2 })
  expect(note.type).toBe('system')
  expect(await ben.channels.get({ channelId: support.id })).toMatchObject({ frozen: true })
  expect(updated.custom).toEqual({ orderId: 7, parcels: 2 })
  expect(answer.user.name).toBe('Ben')
})
