import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { whileRowLocked } from '../support/locks.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const terminatedLater = useSockets()
const lockApps = (sql: Tx) => sql`lock table apps in access exclusive mode`

test('a user who leaves while their token is looked up is not online afterwards', async () => {
  const { db, metrics } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const leaving = await terminatedLater(RawSocket.open(world()))
  const isLookedUp = async () => {
    const waiting = await db`
      select
      from pg_stat_activity
      where datname = current_database()
        and wait_event = 'relation'
        and query like '%token_generation%'`
    return waiting.length > 0
  }
  const hasLeft = async () => {
    const { values } = await metrics.sockets.get()
    return values.every(({ value }) => value === 0)
  }
  await whileRowLocked(world(), lockApps, async () => {
    leaving.send({ id: 1, connect: { token: ben.minted.wsToken } })
    await until(isLookedUp)
    leaving.terminate()
    await until(hasLeft)
  })
  // Those who come later are stored later.
  await terminatedLater(RawSocket.connect(world(), ana))
  const online = await db<{ userId: string }[]>`
    select user_id
    from connections
    where app_id = ${world().appId}`
  expect(online.map(({ userId }) => userId)).toEqual(['ana'])
})
