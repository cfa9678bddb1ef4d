import { expect, test } from 'vitest'
import { GROUP, liveChatOf, ready, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('a reaction in another form of Unicode than the stored one is shown once', async () => {
  const [ana] = await world().users('ana')
  const { id: channelId } = await ana.channels.create({ ...GROUP, memberIds: [] })
  const { id } = await ana.messages.send({ channelId, text: 'coffee?' })
  const { chat } = await liveChatOf(world(), 'ana')
  const room = chat.channel(channelId)
  const { messages } = room
  messages.subscribe(() => {})
  await until(messages, ready)
  const received: string[] = []
  chat.on('reaction.added', ({ payload }) => received.push(payload.reaction.type))
  const reactions = () => messages.getSnapshot().items[0]?.reactions
  const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301']
  const reacted = room.react(id, decomposed)
  expect(reactions()).toMatchObject([{ type: composed, count: 1 }])
  await reacted
  await expect.poll(() => received).toEqual([composed])
  expect(reactions()).toMatchObject([{ type: composed, count: 1, own: true }])
  const taken = room.unreact(id, decomposed)
  expect(reactions()).toEqual([])
  await taken
  expect(reactions()).toEqual([])
})
