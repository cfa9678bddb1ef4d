import { expect, test } from 'vitest'
import { unknownId } from './support/ids.ts'
import { withoutCleanup } from './support/locks.ts'
import { invalid, refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('a channel is found by its id, unless it is deleted or of another app', async () => {
  const { operator, appId } = world()
  const dan = await world().user('by-id-dan')
  const { id: channelId } = await dan.channels.create({ type: 'group', name: 'Tea party' })
  await dan.channels.create({ type: 'group', name: 'Another' })
  await world().user('by-id-eva')
  await dan.channels.create({ type: 'messaging', memberIds: ['by-id-eva'] })
  const { channels: own } = await operator.inspect.channels({ appId, userId: dan.id })
  expect(own.map(({ name, directUserIds }) => [name, directUserIds])).toEqual([
    [null, ['by-id-dan', 'by-id-eva']],
    ['Another', null],
    ['Tea party', null],
  ])
  const { channels, nextCursor } = await operator.inspect.channels({ appId, channelId })
  expect(channels).toMatchObject([{ id: channelId, name: 'Tea party', memberCount: 1 }])
  expect(nextCursor).toBeNull()
  const { id: otherId } = await operator.apps.create({ name: 'Other' })
  const none = { channels: [], nextCursor: null }
  expect(await operator.inspect.channels({ appId: otherId, channelId })).toEqual(none)
  await withoutCleanup(world(), async () => {
    await dan.channels.delete({ channelId })
    expect(await operator.inspect.channels({ appId, channelId })).toEqual(none)
  })
})

test('channels are found by a name, by a member or by an id, not by two of these', async () => {
  const { operator, appId } = world()
  const both = { appId, userId: 'cem' }
  expect(await refusal(operator.inspect.channels({ ...both, q: 'tea' }))).toEqual(invalid)
  const byId = { ...both, channelId: unknownId }
  expect(await refusal(operator.inspect.channels(byId))).toEqual(invalid)
})
