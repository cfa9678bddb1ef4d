import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { useWorld } from '../support/world.ts'

// It does not compare itself with the log.
const world = useWorld({ timings: { reconcileMs: 3_600_000 } })

test('connected members receive at once the events of an erasure', async () => {
  const [leo, mia] = await world().users('leo', 'mia')
  const memberIds = ['mia']
  const { id: channelId } = await leo.channels.create({ type: 'group', name: 'Talk', memberIds })
  const { id: messageId } = await mia.messages.send({ channelId, text: 'hello' })
  for (const text of ['one', 'two']) await leo.messages.send({ channelId, text })
  await leo.reactions.add({ channelId, messageId, emoji: '👍' })
  const client = centrifugeOf(world(), mia)
  onTestFinished(() => client.disconnect())
  const received = await listen(client, topics.channel(world().appId, channelId))
  await world().backend.users.delete({ userId: 'leo' })
  await received.untilType('reaction.removed')
  expect(received.types).toEqual([
    'channel.member_left',
    'channel.member_updated',
    'message.deleted',
    'message.deleted',
    'reaction.removed',
  ])
})
