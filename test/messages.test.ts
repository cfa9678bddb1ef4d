import { expect, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a message gets the next seq of its channel', async () => {
  const ana = await world().user('ana', { name: 'Ana' })
  const ben = await world().user('ben')
  const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const first = await ana.messages.send({ channelId: channel.id, text: 'hi @ben' })
  const second = await ben.messages.send({ channelId: channel.id, text: 'hello', parentId: first.id })
  expect([first.seq, second.seq]).toEqual([1, 2])
  console.log(await ana.messages.list({ channelId: channel.id }), await ben.channels.list())
  console.log(await world().db`select topic, "offset", envelope from events order by 1, 2`)
})
