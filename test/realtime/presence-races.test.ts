import type { Db } from '@parley/server/db/client'
import { KnownPresence } from '@parley/server/realtime/presence/known'
import { expect, test } from 'vitest'
import { quietTimings } from '../support/quiet.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { useTrackers } from './trackers.ts'

/** Changes that happen while presence is compared, or announced again. */

// The node of the world leaves the rows of others to those of the tests.
const world = useWorld({ timings: quietTimings })
const { db, openNode, newUser, age } = useTrackers(world)

/** A database before whose next statement something happens. */
function databaseWith(before: { next?: (() => Promise<unknown>) | undefined }) {
  const use: Db['use'] = async (...given) => {
    const { next } = before
    before.next = undefined
    await next?.()
    return db().use(...given)
  }
  return { ...db(), use }
}

test('users who come or leave while rows are compared are online or offline after it', async () => {
  const before: Parameters<typeof databaseWith>[0] = {}
  const { tracker, connect, rows, changes } = await openNode(databaseWith(before))
  const [coming, leaving] = [await newUser('coming'), await newUser('leaving')]
  const disconnect = await connect(leaving)
  before.next = async () => {
    await connect(coming)
    disconnect()
    await until(() => changes.includes('leaving offline'))
  }
  expect(await tracker.compareRows()).toBe(false)
  expect(await rows()).toEqual([{ userId: 'coming' }])
  expect(changes).toEqual(['leaving online', 'coming online', 'leaving offline'])
})

test('a user who leaves before being announced again is not announced as online', async () => {
  const before: Parameters<typeof databaseWith>[0] = {}
  const { tracker, connect, changes } = await openNode(databaseWith(before))
  const user = await newUser('announced')
  const disconnect = await connect(user)
  before.next = async () => {
    disconnect()
    // The grace is over in the next turn.
    await new Promise((resolve) => setTimeout(resolve))
  }
  tracker.handleOfflineElsewhere(user)
  await until(() => changes.includes('announced offline'))
  expect(changes).toEqual(['announced online', 'announced offline'])
})

test('a comparison does not announce the users of a dead node as online', async () => {
  const [here, dead] = [await openNode(), await openNode()]
  await here.connect(await newUser('seen'))
  await dead.connect(await newUser('unseen'))
  await age(dead.nodeId)
  const announced: string[] = []
  const known = new KnownPresence({
    db: db(),
    nodeId: here.nodeId,
    notify: ({ appId, userId }) => void announced.push(`${appId} ${userId}`),
  })
  await known.compare()
  const { appId } = world()
  expect(announced).toContain(`${appId} seen`)
  expect(announced).not.toContain(`${appId} unseen`)
})
