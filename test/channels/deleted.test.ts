import { expect, test } from 'vitest'
import { withoutCleanup } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

test('a deleted channel takes no place in the pages of its members', async () => {
  const [ana] = await world().users('ana')
  const create = (name: string) => ana.channels.create({ type: 'group', name })
  const [kept, deleted] = [await create('Kept'), await create('Deleted')]
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId: deleted.id })
    const page = await ana.channels.list({ limit: 1 })
    expect(page.channels.map(({ id }) => id)).toEqual([kept.id])
    expect(page.more).toBeUndefined()
  })
})
