import type { Db } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { useTrackers } from './trackers.ts'

const { db, openNode, newUser } = useTrackers(useWorld())

test('a user who could not be announced again is announced later, unless they left', async () => {
  let isOut = false
  const use: Db['use'] = (...given) =>
    isOut ? Promise.reject(new Error('out of reach')) : db().use(...given)
  const { tracker, connect, changes, problems } = await openNode({ ...db(), use })
  const [stays, leaves, other] = [
    await newUser('stays'),
    await newUser('leaves'),
    await newUser('other'),
  ]
  for (const user of [stays, other]) await connect(user)
  const leave = await connect(leaves)
  changes.splice(0)
  isOut = true
  for (const user of [stays, leaves]) tracker.handleOfflineElsewhere(user)
  await until(() => problems.length === 2)
  tracker.announceMissed()
  await until(() => problems.length === 4)
  expect(changes).toEqual([])
  isOut = false
  leave()
  await until(() => changes.length === 1)
  tracker.announceMissed()
  await until(() => changes.length === 2)
  expect(changes).toEqual(['leaves offline', 'stays online'])
  // Once is enough. Announcements follow each other.
  tracker.announceMissed()
  tracker.handleOfflineElsewhere(other)
  await until(() => changes.includes('other online'))
  expect(changes).toHaveLength(3)
})
