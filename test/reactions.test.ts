import { describe, expect, test } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { forbidden, invalid, notFound, refusal, refusals } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** A message of ana's in a channel with ben; cem is outside. */
const said = async (type: 'group' | 'public' = 'group') => {
  const ana = await world().user('ana', { name: 'Ana', image: 'https://example.com/ana.png' })
  const [ben, cem] = await world().users('ben', 'cem')
  const { id: channelId } = await ana.channels.create({ type, name: 'Talk', memberIds: ['ben'] })
  const message = await ana.messages.send({ channelId, text: 'hi' })
  return { ana, ben, cem, message, ref: { channelId, messageId: message.id } }
}

test('a reaction is counted once for each user and shown with the users who reacted', async () => {
  const { ana, ben, ref } = await said()
  expect(await ana.reactions.add({ ...ref, emoji: '👍' })).toEqual({
    success: true,
    reactions: [
      {
        type: '👍',
        count: 1,
        own: true,
        users: [{ id: 'ana', name: 'Ana', image: 'https://example.com/ana.png' }],
      },
    ],
  })
  await ben.reactions.add({ ...ref, emoji: '👍' })
  await ben.reactions.add({ ...ref, emoji: '🎉' })
  const { reactions } = await ben.messages.get(ref)
  expect(reactions).toMatchObject([
    { type: '👍', count: 2, own: true, users: [{ id: 'ana' }, { id: 'ben' }] },
    { type: '🎉', count: 1, own: true, users: [{ id: 'ben' }] },
  ])
  expect(
    (await ana.messages.list({ channelId: ref.channelId })).messages[0]?.reactions.map(
      ({ own }) => own,
    ),
  ).toEqual([true, false])
})

test('adding the same reaction twenty times at once is the same as once', async () => {
  const { ana, ben, ref } = await said()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ben.reactions.add({ ...ref, emoji: '👍' })),
  )
  for (const { reactions } of answers)
    expect(reactions).toMatchObject([{ type: '👍', count: 1, own: true }])
  expect((await ana.messages.get(ref)).reactions).toMatchObject([{ count: 1, own: false }])
  expect(
    (await channelEventsOf(world(), ref.channelId)).filter(({ type }) => type === 'reaction.added'),
  ).toHaveLength(1)
})

test('a removed reaction is gone, and removing one that is not there changes nothing', async () => {
  const { ana, ben, message, ref } = await said()
  await ana.reactions.add({ ...ref, emoji: '👍' })
  const before = await channelEventsOf(world(), ref.channelId)
  expect(await ben.reactions.remove({ ...ref, emoji: '👍' })).toMatchObject({
    success: true,
    reactions: [{ count: 1, own: false }],
  })
  expect(await channelEventsOf(world(), ref.channelId)).toEqual(before)
  expect(await ana.reactions.remove({ ...ref, emoji: '👍' })).toEqual({
    success: true,
    reactions: [],
  })
  expect(await ana.reactions.remove({ ...ref, emoji: '👍' })).toEqual({
    success: true,
    reactions: [],
  })
  expect(await ana.messages.get(ref)).toEqual({ ...message, rev: message.rev + 2 })
})

test('reaction events carry the reaction, the user and all reactions', async () => {
  const { ben, ref } = await said()
  await ben.reactions.add({ ...ref, emoji: '🎉' })
  await ben.reactions.remove({ ...ref, emoji: '🎉' })
  const reaction = { type: '🎉', userId: 'ben' }
  const user = { id: 'ben', name: 'ben', image: null }
  expect(
    (await channelEventsOf(world(), ref.channelId))
      .slice(-2)
      .map(({ type, payload }) => ({ type, payload })),
  ).toEqual([
    {
      type: 'reaction.added',
      payload: {
        ...ref,
        reaction,
        user,
        reactions: [{ type: '🎉', count: 1, own: false, users: [user] }],
      },
    },
    { type: 'reaction.removed', payload: { ...ref, reaction, user, reactions: [] } },
  ])
})

test('the first ten users of a reaction are shown, and all are counted', async () => {
  const { ana, ref } = await said('public')
  const extras = (await insertUsers(world(), 'fan', 12)).toReversed() // not in order of their ids
  for (const id of extras) {
    const fan = await world().user(id)
    await fan.members.join(ref)
    await fan.reactions.add({ ...ref, emoji: '👍' })
  }
  const { reactions } = await ana.reactions.add({ ...ref, emoji: '👍' })
  expect(reactions).toMatchObject([{ count: 13, own: true }])
  expect(reactions[0]?.users.map(({ id }) => id)).toEqual(extras.slice(0, 10))
})

test('a message has at most fifty kinds of reactions', async () => {
  const { ana, ben, ref } = await said()
  for (let kind = 0; kind < 50; kind++) await ana.reactions.add({ ...ref, emoji: `:${kind}:` })
  expect(await refusal(ben.reactions.add({ ...ref, emoji: ':50:' }))).toEqual(invalid)
  expect((await ben.reactions.add({ ...ref, emoji: ':49:' })).reactions).toHaveLength(50)
  await ana.reactions.remove({ ...ref, emoji: ':0:' })
  expect((await ben.reactions.add({ ...ref, emoji: ':50:' })).reactions).toHaveLength(50)
})

describe('emojis', () => {
  test('an emoji is the same in every Unicode composition', async () => {
    const { ana, ref } = await said()
    await ana.reactions.add({ ...ref, emoji: 'e\u0301' })
    expect((await ana.reactions.add({ ...ref, emoji: '\u00e9' })).reactions).toMatchObject([
      { type: '\u00e9', count: 1 },
    ])
    expect((await ana.reactions.remove({ ...ref, emoji: 'e\u0301' })).reactions).toEqual([])
  })

  test.each([
    '',
    ' ',
    'a b',
    '\n',
    '\u0000',
    '\u0007',
    '\u00a0',
    '.',
    '..',
    'x'.repeat(65),
    '👍'.repeat(17),
    '\ud83d',
  ])('the reaction %j is refused', async (emoji) => {
    const { ana, ref } = await said()
    expect(await refusal(ana.reactions.add({ ...ref, emoji }))).toEqual(invalid)
  })

  test.each([undefined, null, 7, ['👍']])('%j instead of an emoji is refused', async (emoji) => {
    const { ana, ref } = await said()
    expect(
      (
        await rest(world(), ana)(
          'POST',
          `/api/channels/${ref.channelId}/messages/${ref.messageId}/reactions`,
          { emoji },
        )
      ).status,
    ).toBe(400)
  })

  test.each([
    '👩‍👩‍👧‍👦',
    '👍🏽',
    '🇨🇭',
    '❤️',
    '+1',
    ':thumbs_up:',
    'a/b',
    '100%',
    '?#&',
    '👍'.repeat(16),
    'x'.repeat(64),
  ])('the reaction %j can be added, and removed by its path', async (emoji) => {
    const { ana, ref } = await said()
    expect((await ana.reactions.add({ ...ref, emoji })).reactions).toMatchObject([
      { type: emoji, count: 1 },
    ])
    const message = `/api/channels/${ref.channelId}/messages/${ref.messageId}`
    const path = `${message}/reactions/${encodeURIComponent(emoji)}`
    expect(await rest(world(), ana)('DELETE', path)).toEqual({
      status: 200,
      body: { success: true, reactions: [] },
    })
  })
})

test('only members react, and only to a live message of the channel', async () => {
  const { ana, ben, cem, ref } = await said('public')
  const other = await said()
  const calls = (call: { reactions: typeof ana.reactions }, where: typeof ref) => [
    call.reactions.add({ ...where, emoji: '👍' }),
    call.reactions.remove({ ...where, emoji: '👍' }),
  ]
  for (const call of await refusals(calls(cem, ref))) expect(call).toEqual(forbidden)
  for (const call of await refusals(calls(ana, { ...ref, messageId: other.ref.messageId })))
    expect(call).toEqual(notFound)
  for (const call of await refusals(calls(ana, { ...ref, messageId: 'first' })))
    expect(call).toEqual(notFound)
  await ana.messages.delete(ref)
  for (const call of await refusals(calls(ben, ref))) expect(call).toEqual(notFound)
})
