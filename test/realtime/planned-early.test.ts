import { limits } from '@parley/contract'
import { selectGrants } from '@parley/server/realtime/grants'
import { expect, test } from 'vitest'
import { quietTimings } from '../support/quiet.ts'
import { rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ poolSize: 1, timings: quietTimings })

/** The rows of the channel, the member, and what is found of the user and the epoch. */
const ROWS_PER_REQUEST = 6
const CHANNELS = 40

test('a subscribe that was planned for one channel finds each of many by its key', async () => {
  const { appId } = world()
  const [ana] = await world().users('ana')
  const create = async () => {
    const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
    const since = limits.realtime.recoverable
    return { appId, userId: 'ana', topic: `chat:${appId}:${id}`, since }
  }
  const first = await create()
  const subscribe = (requests: (typeof first)[]) =>
    rowsReadBy(world(), 'generic', () => world().pool.use((db) => selectGrants(db, [requests])))
  await subscribe([first])
  const others = await Promise.all(Array.from({ length: CHANNELS }, create))
  expect(await subscribe(others)).toBeLessThanOrEqual(CHANNELS * ROWS_PER_REQUEST)
})
