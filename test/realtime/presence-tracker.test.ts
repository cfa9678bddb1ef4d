import { createDb, type Db } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from '../support/database-proxy.ts'
import { quietTimings } from '../support/quiet.ts'
import { unhurried, until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { DEAD_AFTER_MS, useTrackers } from './trackers.ts'

// The node of the world leaves the dead ones to those of the tests.
const world = useWorld({ timings: quietTimings })
const { db, openNode, newUser, age, moveBeat } = useTrackers(world)

test('a user who was offline is online again when they return', async () => {
  const { connect, changes, versions, rows } = await openNode()
  const user = await newUser('returning')
  for (let time = 1; time <= 2; time++) {
    const disconnect = await connect(user)
    disconnect()
    await until(() => changes.length === 2 * time)
  }
  const cycle = ['returning online', 'returning offline']
  expect(changes).toEqual([...cycle, ...cycle])
  expect(versions).toEqual([1, 2, 3, 4])
  expect(await rows()).toHaveLength(0)
})

test('a node that died before the clock was set back is dead after two looks', async () => {
  const [here, dead] = [await openNode(), await openNode()]
  await dead.connect(await newUser('on-ahead'))
  await moveBeat(dead.nodeId, '1 hour')
  await here.tracker.removeDeadNodes()
  expect(here.changes).toEqual([])
  await moveBeat(dead.nodeId, '-1 minute')
  await here.tracker.removeDeadNodes()
  expect(here.changes).toEqual(['on-ahead offline'])
})

test('no node is dead if the clock was set since the heartbeat of the one that looks', async () => {
  const [here, alive] = [await openNode(), await openNode()]
  await alive.connect(await newUser('on-alive'))
  // Moved heartbeats stand for a clock that was set.
  for (const { nodeId } of [here, alive]) await moveBeat(nodeId, '-1 hour')
  await here.tracker.removeDeadNodes()
  expect(here.changes).toEqual([])
  await here.tracker.beat()
  await here.tracker.removeDeadNodes()
  expect(here.changes).toEqual(['on-alive offline'])
})

test('a user of a dead node stays online on another node', async () => {
  const [here, dead] = [await openNode(), await openNode()]
  const [both, gone] = [await newUser('on-both'), await newUser('on-dead')]
  await here.connect(both)
  for (const user of [both, gone]) await dead.connect(user)
  expect(dead.changes).toEqual(['on-dead online'])
  await here.tracker.removeDeadNodes()
  expect(await dead.rows()).toHaveLength(2)
  await age(dead.nodeId)
  await here.tracker.removeDeadNodes()
  expect(here.changes).toEqual(['on-both online', 'on-dead offline'])
  expect([...dead.versions, here.versions.at(-1)]).toEqual([1, 2])
  expect([(await dead.rows()).length, (await here.rows()).length]).toEqual([0, 1])
})

test('a user who leaves one of two nodes stays connected to the other', async () => {
  const [one, other] = [await openNode(), await openNode()]
  const user = await newUser('on-two')
  const leave = await one.connect(user)
  await other.connect(user)
  leave()
  await until(async () => (await one.rows()).length === 0)
  expect(await other.rows()).toEqual([{ userId: 'on-two' }])
  expect([...one.changes, ...other.changes]).toEqual(['on-two online'])
})

test('a dead node whose removal was not answered leaves no user online', async () => {
  const proxy = await openDatabaseProxy(world().databaseUrl)
  const options = { poolSize: 1, applicationName: 'parley-test', patience: unhurried }
  const cut = createDb({ url: proxy.url, ...options })
  onTestFinished(() => proxy.stop())
  onTestFinished(() => cut.end({ timeout: 0 }))
  const here = await openNode(cut)
  const lost: boolean[] = []
  for (let answer = 1; lost.at(-1) !== false; answer++) {
    const dead = await openNode()
    const userId = `removed-${answer}`
    await dead.connect(await newUser(userId))
    await age(dead.nodeId)
    proxy.closeAt({ answer, isDelivered: false })
    const [removal] = await Promise.allSettled([here.tracker.removeDeadNodes()])
    lost.push(removal.status === 'rejected')
    proxy.closeAt(undefined)
    // PostgreSQL may still be at the removal that it was cut off from: that one looks again.
    await until(async () => {
      await here.tracker.removeDeadNodes()
      return (await dead.rows()).length === 0
    })
    await here.tracker.compareRows()
    expect(here.changes).toContain(`${userId} offline`)
  }
  expect(lost.length).toBeGreaterThan(5)
})

test('only a live node makes a user online', async () => {
  const [dead, here] = [await openNode(), await openNode()]
  const user = await newUser('moving')
  await dead.connect(user)
  await age(dead.nodeId)
  const disconnect = await here.connect(user)
  disconnect()
  await until(() => here.changes.length === 2)
  expect(here.changes).toEqual(['moving online', 'moving offline'])
})

test('the users of a node that stopped are offline after the grace', async () => {
  const [stopping, other] = [await openNode(), await openNode()]
  await stopping.connect(await newUser('left-behind'))
  await stopping.tracker.stop()
  await other.tracker.removeDeadNodes()
  expect(other.changes).toEqual(['left-behind offline'])
})

test('the users of a node that stopped stay online for a grace of many heartbeats', async () => {
  const graceMs = 5 * DEAD_AFTER_MS
  const [stopping, other] = [await openNode(db(), graceMs), await openNode(db(), graceMs)]
  await stopping.connect(await newUser('left-for-long'))
  await stopping.tracker.stop()
  await other.tracker.removeDeadNodes()
  await moveBeat(stopping.nodeId, `-${graceMs - 30_000} milliseconds`)
  await other.tracker.removeDeadNodes()
  expect(other.changes).toEqual([])
  await moveBeat(stopping.nodeId, '-30 seconds')
  await other.tracker.removeDeadNodes()
  expect(other.changes).toEqual(['left-for-long offline'])
})

test('a heartbeat finds rows that were lost, and a comparison restores them', async () => {
  const { nodeId, tracker, connect, rows } = await openNode()
  // There are none to be lost.
  expect(await tracker.beat()).toBe(false)
  await connect(await newUser('restored'))
  expect([await tracker.beat(), await tracker.compareRows()]).toEqual([false, false])
  await world().db`delete from connections where node_id = ${nodeId}`
  await world().db`delete from nodes where id = ${nodeId}`
  expect([await tracker.beat(), await tracker.compareRows()]).toEqual([true, true])
  expect(await rows()).toEqual([{ userId: 'restored' }])
  expect(
    await world().db`
      select
      from nodes
      where id = ${nodeId}`,
  ).toHaveLength(1)
  await age(nodeId)
  expect([await tracker.beat(), await tracker.compareRows()]).toEqual([false, false])
  const fresh = world().db`
    select
    from nodes
    where id = ${nodeId} and beat_at > now() - interval '1 minute'`
  expect(await fresh).toHaveLength(1)
})

test.each([-3_600_000, -5_000, 5_000, 3_600_000])(
  'a heartbeat shows that the clock of the database was set by %i ms, once',
  async (milliseconds) => {
    let aheadMs = 0
    const useApart = async (...given: Parameters<Db['useApart']>) => {
      const answer = (await db().useApart(...given)) as { at: number } // of the heartbeat
      return { ...answer, at: answer.at + aheadMs }
    }
    const { tracker } = await openNode({ ...db(), useApart } as Db) // of which it uses no more
    const seen: boolean[] = []
    for (aheadMs of [0, 0, milliseconds, milliseconds]) {
      await tracker.beat()
      seen.push(tracker.hasClockStepped)
    }
    expect(seen).toEqual([false, false, true, false])
  },
)

test('a connection that could not be written is written by the next one', async () => {
  const { connect, changes, rows } = await openNode()
  const user = await newUser('refused')
  const { db: direct } = world()
  await direct`
    alter table connections
    add constraint refused check (user_id <> 'refused') not valid`
  await expect(connect(user)).rejects.toThrow('refused')
  await direct`alter table connections drop constraint refused`
  await connect(user)
  expect(changes).toEqual(['refused online'])
  expect(await rows()).toHaveLength(1)
})

test('a write of many that takes too long is not repeated for fewer', async () => {
  let isSlow = false
  let writes = 0
  const use: Db['use'] = (...given) => {
    if (!isSlow) return db().use(...given)
    writes += 1
    return Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014' }))
  }
  const { tracker } = await openNode({ ...db(), use })
  const { appId } = world()
  isSlow = true
  const users = ['slow-1', 'slow-2', 'slow-3', 'slow-4'].map((userId) => ({ appId, userId }))
  const written = await Promise.allSettled(users.map((user) => tracker.userConnected(user)))
  isSlow = false
  expect(written.map(({ status }) => status)).toEqual(users.map(() => 'rejected'))
  expect(writes).toBe(1)
})

test('a user who came back while their first connection failed stays online', async () => {
  let fail = (_: Error) => {}
  let isHeld = true
  const held = new Promise<never>((_, reject) => (fail = reject))
  const use: Db['use'] = (...given) => {
    if (!isHeld) return db().use(...given)
    isHeld = false
    return held
  }
  const { tracker, connect, rows } = await openNode({ ...db(), use })
  const user = await newUser('returned')
  const first = tracker.userConnected(user)
  tracker.userDisconnected(user)
  // The grace is over in the next turn.
  await new Promise((resolve) => setTimeout(resolve))
  const second = connect(user)
  fail(new Error('the database is gone'))
  await expect(first).rejects.toThrow('gone')
  await second
  await tracker.compareRows()
  expect(await rows()).toEqual([{ userId: 'returned' }])
})

test('a user who leaves after their row was lost is not written again', async () => {
  const { nodeId, connect, rows } = await openNode()
  const disconnect = await connect(await newUser('lost'))
  await world().db`delete from connections where node_id = ${nodeId}`
  disconnect()
  // The grace is over in the next turn. Writes follow each other.
  await new Promise((resolve) => setTimeout(resolve))
  await connect(await newUser('present'))
  expect(await rows()).toEqual([{ userId: 'present' }])
})
