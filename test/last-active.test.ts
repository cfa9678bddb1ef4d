import { createLastActive } from '@parley/server/core/last-active'
import type { UserRef } from '@parley/server/core/user-ref'
import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { whileRowLocked } from './support/locks.ts'
import { RawSocket } from './support/socket.ts'
import { createWorld, useWorld } from './support/world.ts'

const world = useWorld()

const HOUR = 3_600

/** Sets the user's last activity to this many seconds ago. */
const setAge = ({ appId, userId }: UserRef, seconds: number) => world().db`
  update users
  set last_active_at = now() - ${seconds} * interval '1 second'
  where app_id = ${appId}
    and id = ${userId}`

/** How many seconds ago the user was last active, in full minutes. */
async function ageOf({ appId, userId }: UserRef) {
  const [row] = await world().db<{ minutes: number }[]>`
    select floor(extract(epoch from now() - last_active_at) / 60)::int as minutes
    from users
    where app_id = ${appId}
      and id = ${userId}`
  return row?.minutes
}

/** A user who was last active an hour ago. */
async function idleUser(userId: string, appId = world().appId): Promise<UserRef> {
  await setAge({ appId, userId }, HOUR)
  return { appId, userId }
}

test('two active users with the same id in two apps are both shown as active', async () => {
  await world().user('namesake')
  const other = await world().operator.apps.create({ name: 'Other' })
  await world().user('namesake', {}, world().api({ apiKey: other.apiKey }))
  const both = [await idleUser('namesake'), await idleUser('namesake', other.id)]
  const { touch, flush } = createLastActive(world().pool)
  for (const user of both) touch(user)
  await flush()
  expect(await Promise.all(both.map(ageOf))).toEqual([0, 0])
})

test('a node writes the time of last activity of a user once a minute', async () => {
  await world().user('eager')
  const user = await idleUser('eager')
  const { touch, flush } = createLastActive(world().pool)
  touch(user)
  await flush()
  await setAge(user, HOUR)
  touch(user)
  await flush()
  expect(await ageOf(user)).toBe(60)
})

test('a time of last activity that another node wrote within the minute is kept', async () => {
  await world().users('recent', 'older')
  const [recent, older] = [await idleUser('recent'), await idleUser('older')]
  const written = await world().db<{ at: string }[]>`
    update users
    set last_active_at = now() - interval '1 second'
    where app_id = ${recent.appId}
      and id = 'recent'
    returning last_active_at::text as at`
  await setAge(older, 61)
  const { touch, flush } = createLastActive(world().pool)
  for (const user of [recent, older]) touch(user)
  await flush()
  const kept = await world().db<{ at: string }[]>`
    select last_active_at::text as at
    from users
    where app_id = ${recent.appId}
      and id = 'recent'`
  expect(kept).toEqual(written)
  expect(await ageOf(older)).toBe(0)
})

test('writing times of last activity does not wait for a user who is locked', async () => {
  await world().users('locked', 'free')
  const [locked, free] = [await idleUser('locked'), await idleUser('free')]
  const { touch, flush } = createLastActive(world().pool)
  for (const user of [locked, free]) touch(user)
  const lock = (sql: Tx) => sql`
    select from users
    where app_id = ${locked.appId}
      and id = ${locked.userId}
    for update`
  await whileRowLocked(world(), lock, flush)
  expect(await Promise.all([locked, free].map(ageOf))).toEqual([60, 0])
})

test('a server that stops writes who has sent or read in the last seconds', async () => {
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  const ids = ['leaving', 'reading', 'marking', 'looking'] as const
  const [ana, ben, cem, dan] = await node.users(...ids)
  const users = await Promise.all(ids.map((id) => idleUser(id, node.appId)))
  const memberIds = ids.slice(1)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'bye' })
  await ben.reads.mark({ channelId })
  await cem.receipts.mark({ channelId, messageId })
  await dan.messages.list({ channelId })
  await node.stop()
  expect(await Promise.all(users.map(ageOf))).toEqual([0, 0, 0, 60])
})

test('a user who opens a socket counts as active', async () => {
  const watcher = await world().user('watcher')
  const node = await createWorld({ databaseUrl: world().databaseUrl })
  const user = await idleUser('watcher')
  const socket = await RawSocket.connect(node, watcher)
  // A node writes the collected times before it stops.
  await node.stop()
  await socket.closed
  expect(await ageOf(user)).toBe(0)
})

test('a user who was deleted meanwhile is not noted as active', async () => {
  await world().users('leaving', 'staying')
  const both = [await idleUser('leaving'), await idleUser('staying')]
  const { touch, flush } = createLastActive(world().pool)
  for (const user of both) touch(user)
  await world().db`
    update users
    set deleted_at = now()
    where app_id = ${world().appId}
      and id = 'leaving'`
  await flush()
  expect(await Promise.all(both.map(ageOf))).toEqual([60, 0])
})
