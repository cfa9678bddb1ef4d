import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { withoutCleanup } from '../support/locks.ts'
import { forbidden, notFound, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { useSharedWorld, useWorld } from '../support/world.ts'
import { talkIn } from './fixture.ts'

const world = useSharedWorld()
const limited = useWorld({ rateLimits: { tokens: 0, messages: 3, requests: 0 } })
const talk = talkIn(world)

describe('client ids', () => {
  test('a repeated send answers with the original message as it is now', async () => {
    const { ana, ben, channelId, say } = await talk()
    const first = await say('hi', { clientId: 'a' })
    await ben.reactions.add({ channelId, messageId: first.id, emoji: '👍' })
    expect(
      await rest(world(), ana)('POST', `/api/channels/${channelId}/messages`, {
        text: 'other',
        clientId: 'a',
      }),
    ).toMatchObject({
      status: 201,
      body: { id: first.id, text: 'hi', reactions: [{ type: '👍', own: false }] },
    })
    await ana.messages.edit({ channelId, messageId: first.id, text: 'edited' })
    expect(await say('hi', { clientId: 'a' })).toMatchObject({
      id: first.id,
      seq: 1,
      text: 'edited',
    })
    await ana.messages.delete({ channelId, messageId: first.id })
    expect(await say('hi', { clientId: 'a' })).toMatchObject({
      id: first.id,
      text: '',
      deletedAt: expect.any(String),
    })
    expect((await ana.messages.list({ channelId })).maxSeq).toBe(1)
  })

  test('twenty sends at once with one client id make one message', async () => {
    const { ana, channelId, say } = await talk()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => say(`try ${index}`, { clientId: 'same' })),
    )
    expect(new Set(answers.map(({ id, text }) => `${id} ${text}`)).size).toBe(1)
    expect((await ana.messages.list({ channelId })).messages).toEqual([answers[0]])
    expect(await channelEventsOf(world(), channelId)).toHaveLength(3)
  })

  test('client ids that are sent to two channels at once make a message in each', async () => {
    const { ana, channelId } = await talk()
    const channelIds = [channelId, (await talk()).channelId]
    const texts = Array.from({ length: 15 }, (_, index) => `${index}`)
    // Those that arrive while a transaction commits share the next one.
    await Promise.all(
      texts.flatMap((text) =>
        channelIds.map((id) => ana.messages.send({ channelId: id, text, clientId: text })),
      ),
    )
    for (const id of channelIds) {
      const { messages } = await ana.messages.list({ channelId: id })
      expect(messages.map(({ text }) => text).sort()).toEqual(texts.toSorted())
    }
  })

  test('a repeated reply or quote is answered although its message was deleted', async () => {
    const { ana, channelId, say } = await talk()
    const { id } = await say('root')
    const sends = [
      () => say('reply', { parentId: id, clientId: 'reply' }),
      () => say('quote', { quotedMessageId: id, clientId: 'quote' }),
    ]
    const sent = await Promise.all(sends.map((send) => send()))
    await ana.messages.delete({ channelId, messageId: id })
    const again = await Promise.all(sends.map((send) => send()))
    expect(again.map((message) => message.id)).toEqual(sent.map((message) => message.id))
  })

  test('a client id is unique for one author in one channel', async () => {
    const { ana, ben, channelId, say } = await talk()
    const other = await talk()
    const sent = [
      await say('one', { clientId: 'k' }),
      await ben.messages.send({ channelId, text: 'two', clientId: 'k' }),
      await ana.messages.send({ channelId: other.channelId, text: 'three', clientId: 'k' }),
    ]
    expect(sent.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  test('a repeated send shows nothing to an author who was removed', async () => {
    const { ana, ben, channelId } = await talk()
    const send = () => ben.messages.send({ channelId, text: 'hi', clientId: 'gone' })
    await send()
    await ana.members.remove({ channelId, userId: 'ben' })
    expect(await refusal(send())).toEqual(forbidden)
  })
})

test('a repeated send is answered over the rate limit, if the author may read', async () => {
  const [ana, ben] = await limited().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Hasty',
    memberIds: ['ben'],
  })
  const send = (clientId: string) => ben.messages.send({ channelId, text: clientId, clientId })
  const sent = await send('a')
  for (const clientId of ['b', 'c']) await send(clientId)
  expect(await refusal(send('d'))).toEqual({ status: 429, code: 'RATE_LIMITED' })
  expect(await send('a')).toEqual(sent)
  await ana.members.remove({ channelId, userId: 'ben' })
  expect(await refusal(send('a'))).toEqual(forbidden)
  await withoutCleanup(limited(), async () => {
    await ana.channels.delete({ channelId })
    expect(await refusal(send('a'))).toEqual(notFound)
  })
})
