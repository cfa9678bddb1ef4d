import { expect, test } from 'vitest'
import { GROUP, liveChatOf, ready, until } from '../support/chat.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('a room that was left is marked as read up to the last message of the list', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ ...GROUP, memberIds: ['ben'] })
  await ana.messages.send({ channelId: id, text: 'shown' })
  const { chat } = await liveChatOf(world(), 'ben')
  const list = chat.channels()
  list.subscribe(() => {})
  await until(list, ready)
  const room = chat.channel(id)
  await until(room.messages, ready)
  await expect.poll(() => room.messages.getSnapshot().status).toBe('stale')
  const { seq } = await ana.messages.send({ channelId: id, text: 'after leaving' })
  const record = () => list.getSnapshot().items.find((each) => each.id === id)
  await expect.poll(() => record()?.lastMessage?.seq).toBe(seq)
  await room.markRead()
  const { lastReadSeq, unreadCount } = await chat.api.channels.get({ channelId: id })
  expect({ lastReadSeq, unreadCount }).toEqual({ lastReadSeq: seq, unreadCount: 0 })
})
