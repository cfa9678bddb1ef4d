import { expect, test } from 'vitest'
import { withoutCleanup } from '../support/locks.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

test('deleted channels take no place in the pages of their members', async () => {
  const [ana] = await world().users('ana')
  const create = (name: string) => ana.channels.create({ type: 'group', name })
  const kept = await create('Kept')
  // A page looks at one channel more than it shows.
  const deleted = [await create('First'), await create('Second')]
  await withoutCleanup(world(), async () => {
    for (const { id: channelId } of deleted) await ana.channels.delete({ channelId })
    const page = await ana.channels.list({ limit: 1 })
    expect(page.channels.map(({ id }) => id)).toEqual([kept.id])
    expect(page.more).toBeUndefined()
  })
})
