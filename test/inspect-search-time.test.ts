import { expect, test } from 'vitest'
import { copyLastMessage } from './support/copies.ts'
import { medianMs } from './support/median-ms.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a search takes no longer where texts and the part repeat one character', async () => {
  const { operator, appId } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const last = await ana.messages.send({ channelId, text: 'x'.repeat(4_000) })
  await copyLastMessage(world(), last, 500)
  const search = (q: string) => async () =>
    expect((await operator.inspect.messages({ appId, channelId, q })).messages).toEqual([])
  const plain = await medianMs(search('zebra'), 5)
  expect(await medianMs(search(`${'x'.repeat(200)}y`), 5)).toBeLessThan(8 * plain)
})
