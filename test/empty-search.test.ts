import { expect, test } from 'vitest'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('a search for nothing finds what the list without it has', async () => {
  const [ana] = await world().users('ana', 'ben')
  const { id } = await ana.channels.create({ type: 'public', name: 'Open' })
  const q = ''
  expect((await ana.users.list({ q })).users.map((user) => user.id)).toEqual(['ana', 'ben'])
  const { channels } = await ana.channels.list({ discover: true, q })
  expect(channels.map((channel) => channel.id)).toEqual([id])
})
