import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { copyLastMessage } from './support/copies.ts'
import { medianMs } from './support/median-ms.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a search takes no longer where texts and query repeat one character', async () => {
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

test('a search looks at a bounded number of bytes, and goes on where it ended', async () => {
  const { operator, appId } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Essays' })
  const find = (q: string, cursor: string | undefined) =>
    operator.inspect.messages({ appId, channelId, q, ...(cursor && { cursor }) })
  const search = async (q: string) => {
    const pages = [await find(q, undefined)]
    for (let last = pages[0]; last?.nextCursor; last = pages.at(-1))
      pages.push(await find(q, last.nextCursor))
    return pages.map(({ messages }) => messages.map(({ seq }) => seq))
  }
  expect(await search('needle')).toEqual([[]])
  const text = '€'.repeat(limits.textLength - 10)
  await ana.messages.send({ channelId, text: `needle ${text}` })
  expect(await search('needle')).toEqual([[1]])
  const last = await ana.messages.send({ channelId, text })
  const inSlice = Math.ceil(limits.inspectSliceBytes / Buffer.byteLength(text))
  // The first message is the last one that a second call looks at.
  await copyLastMessage(world(), last, 2 * inSlice - 2)
  expect(await search('needle')).toEqual([[], [1]])
  await ana.messages.send({ channelId, text })
  expect(await search('needle')).toEqual([[], [], [1]])
})
