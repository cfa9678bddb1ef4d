import { expect, test } from 'vitest'
import { GROUP, isLive, isOffline, liveChatOf, ready, texts, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

/** A client without a network that shows two pins of a room, of messages of its user. */
async function cutOff() {
  const [ben] = await world().users('ben')
  const { id: channelId } = await ben.channels.create({ ...GROUP, memberIds: [] })
  const sent: string[] = []
  for (const text of ['first', 'second', 'third']) {
    const { id: messageId } = await ben.messages.send({ channelId, text })
    if (text !== 'third') await ben.pins.pin({ channelId, messageId })
    sent.push(messageId)
  }
  const [first = '', second = '', third = ''] = sent
  const { chat, proxy } = await liveChatOf(world(), 'ben')
  const room = chat.channel(channelId)
  room.pins.subscribe(() => {})
  await Promise.all([until(room.pins, ready), until(room.messages, ready)])
  proxy.cut()
  await isOffline(chat)
  const pins = () => texts(room.pins.getSnapshot())
  const comeBack = async () => {
    proxy.mend()
    chat.wake()
    await isLive(chat)
  }
  expect(pins()).toEqual(['second', 'first'])
  return { ben, channelId, first, second, third, room, pins, comeBack }
}

test('a pinned message that is edited or deleted offline changes in the pins at once', async () => {
  const { ben, channelId, first, second, room, pins, comeBack } = await cutOff()
  const edited = room.edit(first, { text: 'new' })
  expect(pins()).toEqual(['second', 'new'])
  const deleted = room.delete(second)
  expect(pins()).toEqual(['new'])
  await comeBack()
  await Promise.all([edited, deleted])
  expect(texts({ items: (await ben.pins.list({ channelId })).messages })).toEqual(['new'])
  expect(pins()).toEqual(['new'])
})

test('a reaction that is made offline to a pinned message shows in the pins at once', async () => {
  const { first, room, comeBack } = await cutOff()
  const reacted = room.react(first, '👍')
  const reactions = () => room.pins.getSnapshot().items[1]?.reactions
  expect(reactions()).toMatchObject([{ type: '👍', count: 1, own: true }])
  await comeBack()
  await reacted
  expect(reactions()).toMatchObject([{ type: '👍', count: 1, own: true }])
})

test('a message pinned offline shows its edit in the pins, and goes if it is deleted', async () => {
  const { third, room, pins } = await cutOff()
  void room.pin(third)
  expect(pins()).toEqual(['third', 'second', 'first'])
  void room.edit(third, { text: 'newer' })
  expect(pins()).toEqual(['newer', 'second', 'first'])
  void room.delete(third)
  expect(pins()).toEqual(['second', 'first'])
})
