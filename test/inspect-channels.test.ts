import type { ChannelType } from '@parley/contract'
import { expect, test } from 'vitest'
import { unknownId } from './support/ids.ts'
import { withoutCleanup } from './support/locks.ts'
import { notFound, refusals } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('no list of channels has a deleted one, and each page follows the one before', async () => {
  const { operator, appId } = world()
  const cem = await world().user('lists-cem')
  const create = (type: ChannelType, name: string) =>
    cem.channels.create({ type, name, memberIds: [] })
  await withoutCleanup(world(), async () => {
    for (const [type, name] of [
      ['group', 'Tea room'],
      ['public', 'Tea garden'],
      ['livestream', 'Tea live'],
    ] as const) {
      await create(type, name)
      const { id: channelId } = await create(type, `${name}, gone`)
      await cem.channels.delete({ channelId })
    }
    /** A list in pages of `limit`. */
    const listed = async (query: { q?: string; userId?: string }, limit: number) => {
      const names: (string | null)[] = []
      let cursor: string | undefined
      do {
        const page = await operator.inspect.channels({
          ...{ appId, limit, ...query },
          ...(cursor && { cursor }),
        })
        names.push(...page.channels.map(({ name }) => name))
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined && names.length < 10)
      return names
    }
    const all = ['Tea live', 'Tea garden', 'Tea room']
    for (const limit of [1, 2, 50]) {
      expect(await listed({ q: 'tea' }, limit)).toEqual(all)
      expect(await listed({ userId: cem.id }, limit)).toEqual(all)
      expect(await listed({}, limit)).toEqual(all)
    }
  })
})

test('listing anything of an app that does not exist is answered with NOT_FOUND', async () => {
  const { inspect } = world().operator
  const appId = unknownId
  expect(
    await refusals([
      inspect.users({ appId }),
      inspect.notifications({ appId, userId: 'ana' }),
      inspect.channels({ appId }),
      inspect.messages({ appId, channelId: unknownId }),
      inspect.webhooks({ appId }),
      inspect.deliveries({ appId, webhookId: unknownId }),
    ]),
  ).toEqual(Array.from({ length: 6 }, () => notFound))
})
