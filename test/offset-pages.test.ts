import { expect, test } from 'vitest'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('users found by name come in pages by offset', async () => {
  const backend = await world().stranger()
  const ids = [1, 2, 3, 4, 5].map((number) => `found-${number}`)
  await backend.users.sync({ users: ids.map((id) => ({ id, name: `Harvest ${id}` })) })
  const page = async (offset: number) => {
    const { users } = await backend.users.list({ q: 'harvest', limit: 2, offset })
    return users.map(({ id }) => id)
  }
  expect(await Promise.all([0, 2, 4, 6].map(page))).toEqual([
    ids.slice(0, 2),
    ids.slice(2, 4),
    ids.slice(4),
    [],
  ])
})

test('channels discovered by name come in pages by offset', async () => {
  const ana = await world().user('ana', {}, await world().stranger())
  const ids: string[] = []
  for (const number of [1, 2, 3, 4, 5]) {
    const { id } = await ana.channels.create({ type: 'public', name: `Harvest ${number}` })
    await ana.messages.send({ channelId: id, text: 'ripe' })
    ids.unshift(id)
  }
  const page = async (offset: number) => {
    const asked = { discover: true, q: 'harvest', limit: 2, offset }
    return (await ana.channels.list(asked)).channels.map(({ id }) => id)
  }
  expect(await Promise.all([0, 2, 4].map(page))).toEqual([
    ids.slice(0, 2),
    ids.slice(2, 4),
    ids.slice(4),
  ])
})
