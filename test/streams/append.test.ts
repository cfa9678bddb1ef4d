import { limits } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { complaint, forbidden, invalid, notFound, refusal, refusals } from '../support/refusal.ts'
import { never, useStreams } from './fixture.ts'

// Texts are stored at the end only, so that each test decides when.
const timings = { streamStoreMs: never, reconcileMs: never }
const { world, users, begin, newChannel } = useStreams({ timings })

describe('a message that grows', () => {
  test('begins without a text, and has all of it once it is finished', async () => {
    const { message, append, finish, get, ref } = await begin()
    expect(message).toMatchObject({ text: '', streaming: true, mentions: [] })
    expect(await append(0, 'Hello ')).toEqual({ length: 6 })
    expect(await append(6, '@ana 👍')).toEqual({ length: 13 })
    expect(await get()).toMatchObject({ text: '', streaming: true })
    const finished = await finish()
    expect(finished).toMatchObject({ text: 'Hello @ana 👍', streaming: false, mentions: ['ana'] })
    expect(await get()).toEqual(finished)
    expect(await finish()).toEqual(finished)
    expect(finished).not.toHaveProperty('interrupted')
    const { db } = world()
    expect(
      await db`
        select
        from message_streams
        where message_id = ${ref.messageId}`,
    ).toEqual([])
  })

  test('may begin with a text, and only messages that begin so may grow', async () => {
    const { bot } = users()
    const channelId = await newChannel()
    const message = await bot.messages.send({ channelId, text: '@ana 👍', streaming: true })
    expect(message.mentions).toEqual([])
    const ref = { channelId, messageId: message.id }
    expect(await bot.streams.append({ ...ref, at: 7, text: ' be it' })).toEqual({ length: 13 })
    expect(await bot.streams.finish(ref)).toMatchObject({
      ...{ text: '@ana 👍 be it', mentions: ['ana'] },
    })
    const whole = await bot.messages.send({ channelId, text: 'whole' })
    const other = { channelId, messageId: whole.id }
    expect(whole).not.toHaveProperty('streaming')
    expect(
      await refusals([
        bot.streams.append({ ...other, at: 5, text: '!' }),
        bot.streams.finish(other),
        bot.messages.send({ channelId, text: '', streaming: false }),
      ]),
    ).toEqual([forbidden, forbidden, invalid])
  })

  test('takes nothing from a user of another app who has the id of its author', async () => {
    const { api, operator } = world()
    const { append, ref } = await begin()
    const { apiKey } = await operator.apps.create({ name: 'Other' })
    const namesake = api({ apiKey, userId: 'bot' })
    expect(await refusal(namesake.streams.append({ ...ref, at: 0, text: 'x' }))).toEqual(notFound)
    expect(await append(0, 'one')).toEqual({ length: 3 })
  })

  test('applies a repeated append once, and refuses a gap or another text', async () => {
    const { append, finish } = await begin()
    await append(0, 'one ')
    await append(4, 'two ')
    expect(await append(4, 'two ')).toEqual({ length: 8 })
    expect(await append(0, 'one ')).toEqual({ length: 8 })
    expect(await append(2, 'e t')).toEqual({ length: 8 })
    expect(await complaint(append(9, 'x'))).toBe('at: expected 8, the length so far')
    expect(await complaint(append(0, 'two'))).toBe('at: expected 8, the length so far')
    expect(await complaint(append(4, 'two three'))).toBe('at: expected 8, the length so far')
    expect(await refusal(append(9, 'x'))).toEqual(invalid)
    expect((await finish()).text).toBe('one two ')
    expect(await append(4, 'two ')).toEqual({ length: 8 })
    expect(await refusals([append(8, 'x'), append(8, '')])).toEqual([forbidden, forbidden])
  })

  test('grows once at each position, however many appends arrive there at once', async () => {
    const { append, finish } = await begin()
    const attempts = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => append(0, `${index}`)),
    )
    const taken = attempts.flatMap(({ status }, index) => (status === 'fulfilled' ? index : []))
    expect(taken).toHaveLength(1)
    const same = await Promise.all(Array.from({ length: 8 }, () => append(1, ' same')))
    expect(new Set(same.map(({ length }) => length))).toEqual(new Set([6]))
    expect((await finish()).text).toBe(`${taken[0]} same`)
  })

  test('has at most the characters of any message, counted over all its parts', async () => {
    const { append, finish } = await begin({ text: '👍' })
    const part = '👍'.repeat(limits.textLength - 2)
    const { length } = await append(2, part)
    expect(length).toBe(2 * (limits.textLength - 1))
    expect(await complaint(append(length, 'ab'))).toBe(
      'text: expected at most 10000 characters in all',
    )
    await append(length, 'c')
    expect((await finish()).text).toBe(`👍${part}c`)
  })

  test('counts as unread once, when it begins', async () => {
    const { ana } = users()
    const channelId = await newChannel()
    const { append, finish } = await begin({ channelId })
    const count = async () => (await ana.channels.get({ channelId })).unreadCount
    expect(await count()).toBe(1)
    await append(0, 'more')
    await finish()
    expect(await count()).toBe(1)
    await begin({ channelId, silent: true })
    expect(await count()).toBe(1)
  })
})

describe('the stream of a message', () => {
  test('belongs to its author, a member of a channel that is not frozen', async () => {
    const { ana, bot } = users()
    const { append, finish, channelId, ref } = await begin()
    const outsider = await world().user('outsider')
    const elsewhere = { ...ref, channelId: await newChannel() }
    expect(
      await refusals([
        append(0, 'x', ana),
        finish(ana),
        append(0, 'x', outsider),
        finish(outsider),
        bot.streams.append({ ...elsewhere, at: 0, text: 'x' }),
        bot.streams.finish(elsewhere),
      ]),
    ).toEqual([forbidden, forbidden, forbidden, forbidden, notFound, notFound])
    const { backend } = world()
    await backend.channels.update({ channelId, frozen: true })
    expect(await complaint(append(0, 'x'))).toBe('The channel is frozen')
    expect(await complaint(append(0, ''))).toBe('The channel is frozen')
    await backend.channels.update({ channelId, frozen: false })
    expect(await append(0, 'x')).toEqual({ length: 1 })
    await ana.members.remove({ channelId, userId: 'bot' })
    expect(await refusals([append(1, 'y'), finish()])).toEqual([forbidden, forbidden])
    expect(await refusal(backend.messages.send({ channelId, text: '', streaming: true }))).toEqual(
      forbidden,
    )
  })

  test('ends with an edit of the text, and goes on with one of the metadata', async () => {
    const { bot } = users()
    const { append, finish, get, ref } = await begin()
    await append(0, 'Hi @ana')
    const tagged = await bot.messages.edit({ ...ref, custom: { model: 'none' } })
    expect(tagged).toMatchObject({ streaming: true, text: '', custom: { model: 'none' } })
    await append(7, '!')
    // A long message is stored like this every few seconds: the text may end with half a word.
    await world().db`
      update messages
      set text = 'Hi @ana'
      where id = ${ref.messageId}`
    const again = await bot.messages.edit({ ...ref, custom: { model: 'other' } })
    expect(again).toMatchObject({ streaming: true, mentions: [], custom: { model: 'other' } })
    const edited = await bot.messages.edit({ ...ref, text: 'Better, @ana' })
    expect(edited).toMatchObject({ streaming: false, text: 'Better, @ana', mentions: ['ana'] })
    expect(await refusal(append(8, '?'))).toEqual(forbidden)
    expect(await finish()).toEqual(edited)
    expect(await get()).toEqual(edited)
  })

  test('ends with the deletion of the message, by its author or the backend', async () => {
    const { bot, ana } = users()
    for (const { messages } of [bot, world().backend]) {
      const { append, finish, ref, channelId } = await begin()
      await append(0, 'secret')
      await messages.delete(ref)
      expect(await refusals([append(6, 'x'), append(0, 'secret'), finish()])).toEqual([
        notFound,
        notFound,
        notFound,
      ])
      const list = await ana.messages.list({ channelId, since_seq: 0 })
      expect(list.messages[0]).not.toHaveProperty('streaming')
      const { db } = world()
      expect(
        await db`
          select
          from message_streams
          where message_id = ${ref.messageId}`,
      ).toEqual([])
    }
  })
})
