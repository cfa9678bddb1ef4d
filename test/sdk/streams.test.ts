import type { Message } from '@parley/client'
import { OrderedMessages } from '@parley/client/internal/room/ordered'
import { applyEvent } from '@parley/client/internal/room/reducer'
import { type ChannelState, emptyState, toChatMessage } from '@parley/client/internal/room/state'
import { createChatServer } from '@parley/client/server'
import { expect, test } from 'vitest'
import { GROUP, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useWorld } from '../support/world.ts'

const timings = { streamStoreMs: 60 }
const world = useWorld({ timings })

/** A channel of ana's with a bot, and the bot as its backend acts for it. */
async function scene(name: string, given?: typeof fetch) {
  const [ana] = await world().users(`${name}-ana`, `${name}-bot`)
  const create = { ...GROUP, memberIds: [`${name}-bot`] }
  const { id: channelId } = await ana.channels.create(create)
  const { url, apiKey } = world()
  const server = createChatServer({ url, apiKey, fetch: given })
  return { ana, channelId, bot: server.as(`${name}-bot`) }
}

test('a message grows in the store while it is written, and ends as it was written', async () => {
  const { ana, channelId, bot } = await scene('grows')
  const { chat } = await liveChatOf(world(), ana.id)
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ready)
  const seen: string[] = []
  room.messages.subscribe(() => void seen.push(texts(room.messages.getSnapshot()).join()))
  const out = bot.stream(channelId, { custom: { model: 'none' } })
  const words = Array.from({ length: 12 }, (_, index) => `word ${index} 👍 `)
  for (const [index, word] of words.entries()) {
    // The text is split between two code units of a character, with a wait at every fifth word.
    const middle = word.indexOf('👍') + 1
    void out.write(word.slice(0, middle))
    const written = out.write(word.slice(middle))
    if (index % 5 === 0) await written
    if (index === 8)
      await until(room.messages, ({ items }) => items[0]?.text.includes('word 5') ?? false)
  }
  const whole = words.join('')
  const finished = await out.end()
  expect(finished).toMatchObject({ text: whole, streaming: false, custom: { model: 'none' } })
  expect(await out.end()).toEqual(finished)
  await until(room.messages, ({ items }) => items[0]?.streaming === false)
  expect(texts(room.messages.getSnapshot())).toEqual([whole])
  // It only grew: a stored copy is never shown where more was known.
  for (const [index, text] of seen.entries())
    expect(text.startsWith(seen[index - 1] ?? '')).toBe(true)
  expect(new Set(seen).size).toBeGreaterThan(2)
})

test('a user who opens a channel during a stream, or comes back, has the whole text', async () => {
  const { ana, channelId, bot } = await scene('joins')
  const out = bot.stream(channelId)
  await out.write('The beginning')
  const { chat, proxy } = await liveChatOf(world(), ana.id)
  const room = chat.channel(channelId)
  room.watch()
  await until(room.messages, ({ items }) => items[0]?.text === 'The beginning')
  await out.write(', the middle')
  await until(room.messages, ({ items }) => items[0]?.text === 'The beginning, the middle')
  proxy.cut()
  await out.write(', what was missed')
  proxy.mend()
  await out.write(', more')
  const whole = 'The beginning, the middle, what was missed, more'
  await until(room.messages, ({ items }) => items[0]?.text === whole)
  expect(room.messages.getSnapshot().items[0]?.streaming).toBe(true)
  await out.end()
  await until(room.messages, ({ items }) => items[0]?.streaming === false)
})

test('lost answers are asked for again, and nothing is written twice', async () => {
  let appends = 0
  const { channelId, bot, ana } = await scene('retries', async (...given) => {
    const response = await fetch(...given)
    // Carried out, but the answer is lost.
    if (String(given[0]).endsWith('/append') && ++appends % 2 === 1)
      throw new TypeError('connection lost')
    return response
  })
  const out = bot.stream(channelId)
  for (const word of ['one ', 'two ', 'three']) await out.write(word)
  expect((await out.end()).text).toBe('one two three')
  expect(appends).toBe(6)
  expect((await ana.messages.list({ channelId })).messages).toHaveLength(1)
})

test('a stream goes on where the server was out of reach', async () => {
  let isDown = false
  const { channelId, bot } = await scene('outage', async (...given) => {
    if (isDown && !String(given[0]).endsWith('/messages')) throw new TypeError('connection refused')
    return fetch(...given)
  })
  const out = bot.stream(channelId)
  await out.write('one ')
  isDown = true
  await expect(out.write('two ')).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  isDown = false
  await out.write('three ')
  await out.write('four')
  isDown = true
  await expect(out.end()).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  isDown = false
  expect(await out.end()).toMatchObject({ text: 'one two three four', streaming: false })
})

test('a refused append fails its call and the later ones with that error', async () => {
  const { channelId, bot, ana } = await scene('refused')
  const out = bot.stream(channelId)
  const { id: messageId } = await out.message
  await out.write('Hello')
  await bot.messages.edit({ channelId, messageId, text: 'No' })
  await expect(out.write('!')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(out.write('?')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(out.end()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect((await ana.messages.get({ channelId, messageId })).text).toBe('No')
  const outside = bot.stream((await ana.channels.create(GROUP)).id)
  await expect(outside.end()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const ended = bot.stream(channelId)
  await ended.write('x')
  await ended.end()
  await expect(ended.write('y')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
})

test('streamed parts are joined by position until their message ends or is deleted', () => {
  const message = {
    id: 'm',
    text: '',
    streaming: true,
    rev: 1,
    seq: 1,
    reactions: [],
    attachments: [],
  }
  const stored = (text: string, rev: number, streaming = true) => ({
    type: 'message.updated' as const,
    rev,
    payload: { channelId: 'c', message: { ...message, text, rev, streaming } as never as Message },
  })
  const delta = (at: number, text: string) => ({
    type: 'message.delta' as const,
    rev: undefined,
    payload: { channelId: 'c', messageId: 'm', at, text },
  })
  const known = toChatMessage(message as never as Message) // what the reducer reads of it
  const initial: ChannelState = { ...emptyState, rev: 1, messages: OrderedMessages.of([known]) }
  const after = (...events: Parameters<typeof applyEvent>[1][]) =>
    events.reduce((state, event) => applyEvent(state, event, 'me'), initial)
  const textOf = (state: ChannelState) => state.messages.get('m')?.text
  expect(textOf(after(delta(0, 'ab'), delta(2, 'cd')))).toBe('abcd')
  expect(textOf(after(delta(2, 'cd')))).toBe('')
  expect(textOf(after(delta(4, 'e'), delta(2, 'cd'), delta(0, 'ab')))).toBe('abcde')
  expect(textOf(after(delta(0, 'ab'), delta(0, 'ab'), delta(1, 'bc')))).toBe('abc')
  expect(textOf(after(delta(0, 'abc'), stored('ab', 2)))).toBe('abc')
  expect(textOf(after(delta(3, 'd'), stored('abc', 2)))).toBe('abcd')
  const ended = after(delta(0, 'abc'), delta(9, 'x'), stored('other', 2, false), delta(5, '!'))
  expect(textOf(ended)).toBe('other')
  expect(ended.early.size).toBe(0)
  const payload = { channelId: 'c', messageId: 'm', seq: 1, deletedAt: '2026' }
  const deletion = { type: 'message.deleted' as const, rev: 2, payload: payload as never }
  const deleted = after(delta(0, 'abc'), deletion, delta(0, 'abc')).messages.get('m')
  expect(deleted).toMatchObject({ text: '', deletedAt: '2026' })
  expect(deleted?.streaming).toBeUndefined()
  const parts = Array.from({ length: 150 }, (_, at) => delta(at + 1, 'x'))
  expect(after(...parts).early.get('m')).toHaveLength(100)
})
