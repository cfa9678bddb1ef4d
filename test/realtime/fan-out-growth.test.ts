import { expect, test } from 'vitest'
import { insertUsers } from '../support/inserted.ts'
import { planAnew, rowsReadBy } from '../support/rows-read.ts'
import { type User, useWorld } from '../support/world.ts'
import { createGroup, payloads, useListeners } from './listeners.ts'

const LARGE = 5_000
const CHANNELS = 300

const world = useWorld({
  poolSize: 1,
  presenceGraceSeconds: 0,
  timings: { reconcileMs: 1_000_000, beatMs: 1_000_000 },
})
const { connect, listenAs, userTopic, newUsers } = useListeners(world)

/** Makes users members of as many new groups, straight into the database. */
async function insertGroups(groups: number, userIds: string[]) {
  const { db, appId } = world()
  await db`
    with made as (
      insert into channels (id, app_id, cid, type, created_by, member_count)
      select
        gen_random_uuid(), ${appId}, 'group:' || gen_random_uuid(), 'group', ${userIds[0] ?? ''},
        ${userIds.length}
      from generate_series(1, ${groups})
      returning id
    )
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, made.id, given, 'member'
    from made, unnest(${userIds}::text[]) given`
}

/** What co-members are sent of a user: a new name, and going and coming. */
async function acquaint(told: User, user: User) {
  await createGroup(told, user)
  const listener = await listenAs(told, userTopic(told))
  const client = connect(user)
  await client.ready()
  const presence = (type: 'presence.online' | 'presence.offline') =>
    payloads(listener, type).filter((each) => 'userId' in each && each.userId === user.id).length
  let renamed = 0
  return {
    rename: async () => {
      await world().user(user.id, { name: `Name ${++renamed}` })
      await listener.untilType('user.updated', renamed)
    },
    'go and come': async () => {
      await listener.until(() => presence('presence.online') > presence('presence.offline'))
      client.disconnect()
      await listener.until(() => presence('presence.online') === presence('presence.offline'))
      client.connect()
      await listener.until(() => presence('presence.online') > presence('presence.offline'))
    },
  }
}

test('telling co-members of a user reads no rows of their large or other channels', async () => {
  const [ana, ben] = await newUsers()
  const crowd = await insertUsers(world(), 'crowd', LARGE)
  await insertGroups(1, [ana.id, ben.id, ...crowd])
  await insertGroups(CHANNELS, [ana.id])
  const changes = await acquaint(ana, ben)
  for (const statistics of ['none', 'analysed']) {
    if (statistics === 'analysed') await world().db`analyze`
    else await planAnew(world())
    for (const plan of ['generic', 'custom'] as const) {
      for (const [name, change] of Object.entries(changes)) {
        const rows = await rowsReadBy(world(), plan, change)
        expect.soft(rows, `${name}, ${plan}, ${statistics}`).toBeLessThanOrEqual(100)
      }
    }
  }
})
