import { randomUUID } from 'node:crypto'
import { selectConnected } from '@parley/server/features/connected'
import { expect, onTestFinished, test } from 'vitest'
import { createGroup, payloads, useListeners } from '../realtime/listeners.ts'
import { quietTimings } from '../support/quiet.ts'
import { discardPlans, rowsReadBy } from '../support/rows-read.ts'
import { type User, useWorld } from '../support/world.ts'

const LARGE = 5_000
const CHANNELS = 300

const world = useWorld({
  poolSize: 1,
  presenceGraceSeconds: 0,
  timings: quietTimings,
})
const { connect, listenAs, userTopic, newUsers } = useListeners(world)

/**
 * Inserts a large channel of ana, ben and others, and many more of ana, on the connection whose
 * reads are counted: statistics of another one would arrive while something else is measured.
 */
const insertChannels = (anaId: string, benId: string) =>
  world().pool.use(async (db) => {
    const { appId } = world()
    await db`
      insert into users (app_id, id)
      select ${appId}, 'fan' || n
      from generate_series(1, ${LARGE}) n`
    await db`
      with made as (
        insert into channels (id, app_id, cid, type, created_by, member_count)
        select
          gen_random_uuid(), ${appId}, 'group:' || gen_random_uuid(), 'group', ${anaId},
          case n when 0 then ${LARGE + 2} else 1 end
        from generate_series(0, ${CHANNELS}) n
        returning id, member_count
      )
      insert into members (app_id, channel_id, user_id, role)
      select ${appId}, made.id, given, 'member'
      from made
      cross join lateral (
        select ${anaId} as given
        union all
        select id
        from users
        where app_id = ${appId}
          and made.member_count > 1
          and (id = ${benId} or id like 'fan%')
      ) member`
  })

/** The actions of a user that co-members receive: a new name, and leaving and returning. */
async function acquaint(notified: User, user: User) {
  await createGroup(notified, user)
  const listener = await listenAs(notified, userTopic(notified))
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

test('notifying the co-members of a user reads no rows of large or other channels', async () => {
  const [ana, ben] = await newUsers()
  await insertChannels(ana.id, ben.id)
  const changes = await acquaint(ana, ben)
  for (const statistics of ['none', 'analysed']) {
    if (statistics === 'analysed') await world().db`analyze`
    else await discardPlans(world())
    for (const plan of ['generic', 'custom'] as const) {
      for (const [name, change] of Object.entries(changes)) {
        const rows = await rowsReadBy(world(), plan, change)
        expect.soft(rows, `${name}, ${plan}, ${statistics}`).toBeLessThanOrEqual(100)
      }
    }
  }
})

test('a message or deletion in a large group reads only connected members', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  await world().pool.use(async (db) => {
    await db`
      with added as (
        insert into users (app_id, id)
        select ${world().appId}, 'reader' || n
        from generate_series(1, ${LARGE}) n
        returning app_id, id
      )
      insert into members (app_id, channel_id, user_id, role)
      select app_id, ${channelId}, id, 'member'
      from added`
    await db`
      update channels
      set member_count = ${LARGE + 2}
      where app_id = ${world().appId}
        and id = ${channelId}`
  })
  const listener = await listenAs(ben, userTopic(ben))
  let sent = 0
  const notify = async () => {
    await ana.messages.send({ channelId, text: 'hello' })
    sent += 1
    await listener.until(() =>
      payloads(listener, 'channel.unread_changed').some(
        (each) => 'count' in each && each.count === sent,
      ),
    )
  }
  const otherId = randomUUID()
  onTestFinished(async () => {
    await world().db`
      delete from connections
      where app_id = ${otherId}`
  })
  await world().db`
    insert into connections (node_id, app_id, user_id)
    select n.id, ${otherId}, 'stranger' || number
    from nodes n, generate_series(1, ${4 * LARGE}::int) number`
  await world().db`analyze`
  for (const plan of ['generic', 'custom'] as const) {
    const rows = await rowsReadBy(world(), plan, notify)
    expect.soft(rows, plan).toBeLessThanOrEqual(100)
    const connected = () => world().pool.use((db) => selectConnected(db, channelId))
    expect((await connected()).map(({ userId }) => userId)).toEqual([ben.id])
    const read = await rowsReadBy(world(), plan, connected)
    expect.soft(read, `deletion, ${plan}`).toBeLessThanOrEqual(100)
  }
})
