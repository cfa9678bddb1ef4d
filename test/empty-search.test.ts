import { expect, test } from 'vitest'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('an empty search returns the same as the list without a search', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ type: 'public', name: 'Open' })
  const q = ''
  expect((await ana.users.list({ q })).users.map((user) => user.id)).toEqual(['ana', 'ben'])
  const { channels } = await ana.channels.list({ discover: true, q })
  expect(channels.map((channel) => channel.id)).toEqual([id])
})
