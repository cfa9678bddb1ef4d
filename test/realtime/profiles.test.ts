import { expect, test } from 'vitest'
import { waitingForRows, whileUserLocked } from '../support/locks.ts'
import { useTwinSockets } from '../support/twin/sockets.ts'
import { useWorld } from '../support/world.ts'
import { createGroup, payloads, useListeners } from './listeners.ts'

const world = useWorld()
useTwinSockets(world)
const { listenAs, userTopic, newUsers } = useListeners(world)

test('co-members receive a changed profile, with a version that grows by any clock', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const anas = await listenAs(ana, userTopic(ana))
  const image = 'https://example.com/ben.png'
  await world().user(ben.id, { name: 'Benedict' })
  await anas.untilType('user.updated')
  // As if the clock had been set back by an hour since then.
  await world().db`
    update users
    set profile_changed_at = profile_changed_at + interval '1 hour'
    where id = ${ben.id}`
  await world().user(ben.id, { image })
  await anas.untilType('user.updated', 2)
  const version = expect.any(Number)
  expect(payloads(anas, 'user.updated')).toEqual([
    { user: { id: ben.id, name: 'Benedict', image: null }, version },
    { user: { id: ben.id, name: 'Benedict', image }, version },
  ])
  const [first = 0, second] = payloads(anas, 'user.updated').map(
    (payload) => ('user' in payload && 'version' in payload && payload.version) || undefined,
  )
  expect(second).toBe(first + 3_600_000_001)
})

test('a name that is changed and changed back at once is received as it is', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const anas = await listenAs(ana, userTopic(ana))
  const { name } = await ben.users.get({ userId: ben.id })
  const { put } = world().backend.users
  const changes = await whileUserLocked(world(), ben.id, async () => {
    const away = put({ userId: ben.id, name: 'Benedict' })
    await waitingForRows(world(), 1)
    const back = put({ userId: ben.id, name })
    await waitingForRows(world(), 2)
    return { both: [away, back] }
  })
  await Promise.all(changes.both)
  await anas.until(() =>
    payloads(anas, 'user.updated').some(
      (payload) => 'user' in payload && payload.user.name === name,
    ),
  )
})
