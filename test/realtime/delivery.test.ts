import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { centrifugeOf, framings, listen } from '../support/realtime.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test.each(framings)(
  'an unmodified centrifuge client receives every message of a channel once and in order (%s)',
  async (framing) => {
    const [ana, ben] = await world().users(`ana-${framing}`, `ben-${framing}`)
    const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: [ben.id] })
    const client = centrifugeOf(world(), ben, framing)
    onTestFinished(() => client.disconnect())
    const listener = await listen(client, topics.channel(world().appId, channel.id))
    const sent = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        ana.messages.send({ channelId: channel.id, text: `message ${index}` }),
      ),
    )
    await listener.untilType('message.new', 50)
    const ascending = sent.sort((a, b) => a.seq - b.seq)
    expect(listener.received.map(({ offset }) => offset)).toEqual(ascending.map(({ rev }) => rev))
    expect(listener.received.map(({ envelope }) => envelope.payload)).toEqual(
      ascending.map((message) => ({
        channelId: channel.id,
        message,
        authorLastReadSeq: message.seq,
      })),
    )
  },
)

test('a subscriber of a channel receives every kind of change, in order', async () => {
  const [ana, ben, cem] = await world().users('kinds-ana', 'kinds-ben', 'kinds-cem')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: [ben.id],
  })
  const client = centrifugeOf(world(), ben)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, topics.channel(world().appId, channelId))
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  await ana.messages.edit({ channelId, messageId, text: 'hello' })
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await ben.reactions.remove({ channelId, messageId, emoji: '👍' })
  await ana.messages.delete({ channelId, messageId })
  await ana.members.add({ channelId, userIds: [cem.id] })
  await ana.members.remove({ channelId, userId: cem.id })
  await listener.untilType('channel.member_left')
  expect(listener.types).toEqual([
    'message.new',
    'message.updated',
    'reaction.added',
    'reaction.removed',
    'message.deleted',
    'channel.member_joined',
    'channel.member_left',
  ])
})
