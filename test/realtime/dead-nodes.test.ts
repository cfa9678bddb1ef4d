import { removeDeadNode } from '@parley/server/realtime/presence/queries'
import { expect, test } from 'vitest'
import { insertUsers } from '../support/inserted.ts'
import { quietTimings } from '../support/quiet.ts'
import { useWorld } from '../support/world.ts'
import { DEAD_AFTER_MS, useTrackers } from './trackers.ts'

// The node of the world leaves the dead ones to those of the tests.
const world = useWorld({ timings: quietTimings })
const { db, openNode, newUser, age } = useTrackers(world)

test('a node that writes a heartbeat before it is removed is kept', async () => {
  const alive = await openNode()
  await alive.connect(await newUser('on-recovered'))
  const node = { id: alive.nodeId, deadAfterMs: DEAD_AFTER_MS }
  const remove = () => db().use((connection) => removeDeadNode(connection, node))
  expect(await remove()).toEqual({ offline: [], isMore: false })
  expect(await alive.rows()).toHaveLength(1)
  await age(alive.nodeId)
  const { offline } = await remove()
  expect(offline.map(({ userId }) => userId)).toEqual(['on-recovered'])
})

test('the users of a large dead node are offline, a thousand by each transaction', async () => {
  const [here, dead] = [await openNode(), await openNode()]
  const userIds = await insertUsers(world(), 'on-large-', 2_500)
  await world().db`
    insert into connections (node_id, app_id, user_id)
    select ${dead.nodeId}, ${world().appId}, *
    from unnest(${userIds}::text[])`
  await age(dead.nodeId)
  const node = { id: dead.nodeId, deadAfterMs: DEAD_AFTER_MS }
  const first = await db().use((connection) => removeDeadNode(connection, node))
  expect([first.offline.length, first.isMore]).toEqual([1_000, true])
  expect(await dead.rows()).toHaveLength(1_500)
  await here.tracker.removeDeadNodes()
  const announced = [...first.offline.map(({ userId }) => `${userId} offline`), ...here.changes]
  expect(announced.sort()).toEqual(userIds.map((userId) => `${userId} offline`).sort())
  expect(await dead.rows()).toEqual([])
  expect(
    await world().db`
      select
      from nodes
      where id = ${dead.nodeId}`,
  ).toHaveLength(0)
})
