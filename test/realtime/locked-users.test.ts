import { createDb } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { waitingForRows, whileUserLocked } from '../support/locks.ts'
import { quietTimings } from '../support/quiet.ts'
import { slowness } from '../support/slowness.ts'
import { unhurried, until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { useTrackers } from './trackers.ts'

// The node of the world leaves the dead ones to those of the tests.
const world = useWorld({ timings: quietTimings })
const { openNode, newUser, age } = useTrackers(world)

test('the locked row of a user does not delay others who connect at the same time', async () => {
  const { connect, changes } = await openNode()
  const [locked, one, other] = [await newUser('a'), await newUser('b'), await newUser('c')]
  const arrival = await whileUserLocked(world(), 'a', async () => {
    const connected = connect(locked)
    await Promise.all([connect(one), connect(other)])
    expect(changes.sort()).toEqual(['b online', 'c online'])
    return { connected }
  })
  await arrival.connected
  expect(changes).toEqual(['b online', 'c online', 'a online'])
})

test('a user who leaves while they wait behind others for a lock is not online', async () => {
  const { tracker, connect, rows } = await openNode()
  const [first, second] = [await newUser('first'), await newUser('second')]
  const arrivals = await whileUserLocked(world(), 'first', async () => {
    const both = await whileUserLocked(world(), 'second', async () => {
      const connected = [tracker.userConnected(first), tracker.userConnected(second)]
      await waitingForRows(world(), 1)
      return { connected }
    })
    tracker.userDisconnected(second)
    // The grace is over in the next turn, and the writes of that time are joined.
    await new Promise((resolve) => setTimeout(resolve))
    await connect(await newUser('third'))
    return both
  })
  await Promise.all(arrivals.connected)
  await connect(await newUser('fourth'))
  await until(async () => (await rows()).length === 3, { seconds: 20 * slowness })
  expect((await rows()).map(({ userId }) => userId).sort()).toEqual(['first', 'fourth', 'third'])
})

test('locked users of one app delay no user of another whose row was locked a moment', async () => {
  const { connect, changes } = await openNode(openDb({ poolSize: 6 }))
  const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Other' })
  await world().api({ apiKey }).tokens.create({ userId: 'other' })
  const slow = [await newUser('slow'), await newUser('slower')]
  const arrivals = await whileUsersLocked(['slow', 'slower'], async () => {
    const connected = slow.map(connect)
    await waitingForRows(world(), 1)
    const { databaseUrl } = world()
    const arrival = await whileUserLocked({ databaseUrl, appId }, 'other', async () => {
      const connected = connect({ appId, userId: 'other' })
      // Those who come after them have been written: they wait apart.
      await connect(await newUser('free'))
      return { connected }
    })
    await until(() => changes.includes('other online'), { seconds: 20 * slowness })
    await arrival.connected
    expect(changes).toEqual(['free online', 'other online'])
    return { connected }
  })
  await Promise.all(arrivals.connected)
})

function openDb({ poolSize }: { poolSize: number }) {
  const options = { poolSize, applicationName: 'parley-test', patience: unhurried }
  const db = createDb({ url: world().databaseUrl, ...options })
  onTestFinished(() => db.end({ timeout: 1 }))
  return db
}

const whileUsersLocked = <T>([first, second]: [string, string], work: () => Promise<T>) =>
  whileUserLocked(world(), first, () => whileUserLocked(world(), second, work))

test('a dead node that cannot be removed does not prevent the removal of others', async () => {
  const impatient = createDb({
    ...{ url: world().databaseUrl, poolSize: 2, applicationName: 'parley-test' },
    patience: { callMs: 60_000, statementMs: 1_000 * slowness },
  })
  onTestFinished(() => impatient.end({ timeout: 1 }))
  const here = await openNode(impatient)
  // The locked user may be found before or after the other one.
  for (const [locked, other] of [
    ['a-locked', 'b-free'],
    ['d-locked', 'c-free'],
  ] as const) {
    for (const userId of [locked, other].sort()) {
      const dead = await openNode()
      await dead.connect(await newUser(userId))
      await age(dead.nodeId)
    }
    here.changes.length = 0
    await whileUserLocked(world(), locked, async () => {
      await expect(here.tracker.removeDeadNodes()).rejects.toThrow('statement timeout')
    })
    expect(here.changes).toEqual([`${other} offline`])
    await here.tracker.removeDeadNodes()
    expect(here.changes).toEqual([`${other} offline`, `${locked} offline`])
  }
})
