import type { UserRef } from '@parley/server/core/user-ref'
import { createDb } from '@parley/server/db/client'
import type { PresenceNote } from '@parley/server/realtime/broker'
import { PresenceTracker } from '@parley/server/realtime/presence'
import { removeDeadNode } from '@parley/server/realtime/presence-queries'
import { type Session, Sessions } from '@parley/server/realtime/sessions'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

// The node of the world leaves the dead ones to those of the tests.
const world = useWorld({ timings: { reconcileMs: 3_600_000 } })
const DEAD_AFTER_MS = 60_000
let db: ReturnType<typeof createDb>
beforeAll(() => {
  const url = world().databaseUrl
  db = createDb({ url, poolSize: 2, applicationName: 'parley-test' })
})
afterAll(() => db.end({ timeout: 1 }))

let nodes = 0
/** The presence of a node, and the changes that it reports: those of others would be its own. */
async function openNode(database = db, graceMs = 0) {
  const nodeId = `node-${++nodes}`
  const sessions = new Sessions()
  const changes: string[] = []
  const problems: string[] = []
  const tracker = new PresenceTracker({
    db: database,
    nodeId,
    sessions,
    graceMs,
    deadAfterMs: DEAD_AFTER_MS,
    beatPatienceMs: 60_000,
    onChange: ({ userId, isOnline }: PresenceNote) =>
      void changes.push(`${userId} ${isOnline ? 'online' : 'offline'}`),
    report: (_, problem) => void problems.push(problem),
  })
  onTestFinished(async () => {
    await tracker.stop()
    await world().db`delete from nodes where id = ${nodeId}`
  })
  await tracker.beat()
  const connect = async (user: UserRef) => {
    const session = user as Session // nothing else of it is used
    sessions.add(session)
    await tracker.userConnected(user)
    return () => {
      sessions.remove(session)
      tracker.userDisconnected(user)
    }
  }
  const rows = () => world().db<{ userId: string }[]>`
    select user_id
    from connections
    where node_id = ${nodeId}`
  return { nodeId, tracker, connect, changes, problems, rows }
}
async function newUser(userId: string): Promise<UserRef> {
  await world().user(userId)
  return { appId: world().appId, userId }
}
const age = (nodeId: string) => world().db`
  update nodes
  set beat_at = now() - interval '1 hour'
  where id = ${nodeId}`
/** Moves a node's heartbeat, as time or a change of the clock does. */
const moveBeat = (nodeId: string, interval: string) => world().db`
  update nodes
  set beat_at = beat_at + ${interval}::interval
  where id = ${nodeId}`

test('a user who was offline is online again when they return', async () => {
  const { connect, changes, rows } = await openNode()
  const user = await newUser('returning')
  for (let time = 1; time <= 2; time++) {
    const disconnect = await connect(user)
    disconnect()
    await until(() => changes.length === 2 * time)
  }
  const cycle = ['returning online', 'returning offline']
  expect(changes).toEqual([...cycle, ...cycle])
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
  expect([(await dead.rows()).length, (await here.rows()).length]).toEqual([0, 1])
})

test('a node that beats before it is removed is not', async () => {
  const alive = await openNode()
  await alive.connect(await newUser('on-recovered'))
  const node = { id: alive.nodeId, deadAfterMs: DEAD_AFTER_MS }
  expect(await db.use((connection) => removeDeadNode(connection, node))).toEqual([])
  expect(await alive.rows()).toHaveLength(1)
  await age(alive.nodeId)
  const offline = await db.use((connection) => removeDeadNode(connection, node))
  expect(offline.map(({ userId }) => userId)).toEqual(['on-recovered'])
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
  const [stopping, other] = [await openNode(db, graceMs), await openNode(db, graceMs)]
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
  expect(await world().db`select from nodes where id = ${nodeId}`).toHaveLength(1)
  await age(nodeId)
  expect([await tracker.beat(), await tracker.compareRows()]).toEqual([false, false])
  const fresh = world().db`
    select
    from nodes
    where id = ${nodeId} and beat_at > now() - interval '1 minute'`
  expect(await fresh).toHaveLength(1)
})

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
  const use: typeof db.use = (...given) => {
    if (!isSlow) return db.use(...given)
    writes += 1
    return Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014' }))
  }
  const { tracker } = await openNode({ ...db, use })
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
  const use: typeof db.use = (...given) => {
    if (!isHeld) return db.use(...given)
    isHeld = false
    return held
  }
  const { tracker, connect, rows } = await openNode({ ...db, use })
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
