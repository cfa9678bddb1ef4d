import type { UserRef } from '@parley/server/core/user-ref'
import { selectCoMembers } from '@parley/server/realtime/fanout/co-members'
import { createUserFanout } from '@parley/server/realtime/fanout/index'
import type { Sessions } from '@parley/server/realtime/sessions'
import { timings } from '@parley/server/realtime/timings'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { TopicListener } from '../support/realtime.ts'
import { useTwinSockets } from '../support/twin/sockets.ts'
import { until } from '../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'
import { createGroup, payloads, presenceOf, useListeners } from './listeners.ts'

let looks = 0
// No note counts as missed, however long this process stands still: it would be sent again.
const neverSilent = { brokerSilenceMs: 3_600_000, silentNodeMs: 3_600_000 }
const often = { beatMs: 300, reconcileMs: 300, steadyMs: 0, comparePresenceMs: 300 }
const world = useWorld({
  presenceGraceSeconds: 0,
  timings: { ...often, ...neverSilent },
  onStatement: (statement) => {
    if (statement.includes('select con.node_id, con.app_id, con.user_id')) looks += 1
  },
})
useTwinSockets(world)
// At its start a node reads who is online, and once after that compares it with what it knows. A
// change of another node whose note is on its way just then is announced twice.
beforeAll(() => until(() => looks > 1))
/** For nodes that shall learn of events by messages: reconciliation is an hour away. */
const messagesOnly = { reconcileMs: 3_600_000 }
const { connect, listenAs, userTopic, newUsers } = useListeners(world)

describe('presence', () => {
  test("co-members receive a user's first connection and last disconnection", async () => {
    const [ana, ben] = await newUsers()
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const [first, second] = [connect(ben), connect(ben)]
    await Promise.all([first.ready(), second.ready()])
    await anas.until(() => presenceOf(anas, ben.id).length === 1)
    first.disconnect()
    second.disconnect()
    await anas.untilType('presence.offline')
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
    expect(payloads(anas, 'presence.offline')[0]).toEqual({
      userId: ben.id,
      lastActiveAt: expect.any(String),
      version: 2,
    })
    expect(payloads(anas, 'presence.online')).toContainEqual(
      expect.objectContaining({ userId: ben.id, version: 1 }),
    )
    const { users } = await ana.users.list({ ids: [ben.id] })
    expect(users[0]).toMatchObject({ online: false, presenceVersion: 2 })
  })

  test('presence is sent once to its user and to each of their co-members', async () => {
    const [ana, ben] = await newUsers()
    for (let channels = 0; channels < 2; channels++) await createGroup(ana, ben)
    await Promise.all([connect(ana).ready(), connect(ben).ready()])
    const nodeId = await until(async () => {
      const [[row], [other]] = await Promise.all([connections(ana.id), connections(ben.id)])
      return other && row?.nodeId
    })
    const announced: string[][] = []
    const fanout = createUserFanout({
      ...{ db: world().pool, nodeId, sessions: { isEmpty: false } as Sessions }, // what it reads
      broadcast: (topics) => void announced.push(topics),
      report: () => {},
      hasReceivers: () => true,
      send: () => {},
      onPresenceLost: () => {},
      onProfileLost: () => {},
      onCopyLost: () => {},
    })
    const { appId } = world()
    const change = { kind: 'presence', appId, userId: ana.id, isOnline: true } as const
    fanout.presenceChanged({ ...change, lastActiveAt: null })
    await until(() => announced.length > 0)
    expect(announced).toEqual([[userTopic(ana), userTopic(ben)]])
    // Each of the users who change at once is announced to the others.
    const users = [ana, ben].map(({ id }) => ({ appId, userId: id }))
    const coMembers = await world().pool.use((db) => selectCoMembers(db, null, users))
    const both = users.map((user) => ({ ...user, nodeId }))
    expect(coMembers.map((found) => found.toSorted(byId))).toEqual([both, both])
  })
  const byId = (one: UserRef, other: UserRef) => one.userId.localeCompare(other.userId)

  /**
   * Resolves once the co-member has received the presence of users who connect now, to this node
   * and to the other: so they have also received all that happened before on each.
   */
  const settled = async (
    listener: TopicListener,
    { owner, other }: { owner: User; other: World },
  ) => {
    for (const node of [world(), other]) {
      const [cem] = await newUsers()
      await createGroup(owner, cem)
      await connect(cem, node).ready()
      await listener.until(() => presenceOf(listener, cem.id).length === 1)
    }
  }
  const connections = (userId: string) => world().db`
    select node_id
    from connections
    where app_id = ${world().appId} and user_id = ${userId}`

  test('a user connected to two nodes is online until both connections end', async () => {
    const [ana, ben] = await newUsers()
    const other = await createWorld({ presenceGraceSeconds: 0, databaseUrl: world().databaseUrl })
    onTestFinished(other.stop)
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const [here, there] = [connect(ben), connect(ben, other)]
    await Promise.all([here.ready(), there.ready()])
    expect(await connections(ben.id)).toHaveLength(2)
    here.disconnect()
    await until(async () => (await connections(ben.id)).length === 1)
    await settled(anas, { owner: ana, other })
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online'])
    there.disconnect()
    await anas.untilType('presence.offline')
    await settled(anas, { owner: ana, other })
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
  })

  test('a reconnect within the grace sends no presence', async () => {
    const [ana, ben] = await newUsers()
    const graceful = await createWorld({
      presenceGraceSeconds: 60,
      databaseUrl: world().databaseUrl,
    })
    onTestFinished(graceful.stop)
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    for (let time = 0; time < 2; time++) {
      const client = connect(ben, graceful)
      await client.ready()
      client.disconnect()
      // The server has seen the socket close.
      await until(async () => graceful.app.websocketServer.clients.size === 0)
    }
    await connect(ben, graceful).ready()
    await settled(anas, { owner: ana, other: graceful })
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online'])
    expect(await connections(ben.id)).toHaveLength(1)
  })

  test('a user is offline once, after the grace and not before', async () => {
    const [ana, ben] = await newUsers()
    const graceful = await createWorld({
      presenceGraceSeconds: 0.5,
      databaseUrl: world().databaseUrl,
    })
    onTestFinished(graceful.stop)
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const client = connect(ben, graceful)
    await client.ready()
    await anas.until(() => presenceOf(anas, ben.id).length === 1)
    const leftAt = performance.now()
    client.disconnect()
    await anas.until(() => presenceOf(anas, ben.id).length === 2)
    expect(performance.now() - leftAt).toBeGreaterThan(490)
    await settled(anas, { owner: ana, other: graceful })
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
  })

  test('a connection of a node that is not running keeps no user online', async () => {
    const [ana, ben] = await newUsers()
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const { db, appId } = world()
    await db`
      insert into connections (node_id, app_id, user_id)
      values ('swept', ${appId}, ${ben.id}), ('dying', ${appId}, ${ben.id})`
    await db`
      insert into nodes (id, beat_at)
      values ('dying', now() - interval '1 hour')`
    await anas.untilType('presence.offline')
    expect(payloads(anas, 'presence.offline')).toMatchObject([{ userId: ben.id }])
  })

  test('the users of a node whose heartbeat stopped go offline', async () => {
    const [ana, ben] = await newUsers()
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const deadInASecond = timings.deadAfterMs / 1_000 - 1
    await world().db`
      insert into connections (node_id, app_id, user_id)
      values ('dead', ${world().appId}, ${ben.id})`
    // Last: the node dies with those who are connected to it by then.
    await world().db`
      insert into nodes (id, beat_at)
      values ('dead', now() - ${deadInASecond} * interval '1 second')`
    await anas.until(() => presenceOf(anas, ben.id).includes('presence.offline'))
  })
})

test('members receive channel updates and deletions in their own topic', async () => {
  const [ana, ben] = await newUsers()
  const other = await createWorld({ databaseUrl: world().databaseUrl, timings: messagesOnly })
  const channelId = await createGroup(ana, ben)
  const [here, there] = [
    await listenAs(ben, userTopic(ben)),
    await listenAs(ben, userTopic(ben), other),
  ]
  await ana.channels.update({ channelId, name: 'New name' })
  for (const each of [here, there]) await each.untilType('channel.updated')
  await ana.channels.delete({ channelId })
  for (const each of [here, there]) {
    await each.untilType('channel.deleted')
    expect(payloads(each, 'channel.updated')).toEqual([
      { channelId, channel: expect.objectContaining({ name: 'New name' }) },
    ])
  }
  await other.stop()
})

test('members receive the deletion of each of many channels', async () => {
  const [ana, ben] = await newUsers()
  const other = await createWorld({ databaseUrl: world().databaseUrl, timings: messagesOnly })
  const channelIds = await Promise.all(Array.from({ length: 30 }, () => createGroup(ana, ben)))
  const listeners = [
    await listenAs(ben, userTopic(ben)),
    await listenAs(ben, userTopic(ben), other),
  ]
  await Promise.all(channelIds.map((channelId) => ana.channels.delete({ channelId })))
  for (const each of listeners) {
    await each.untilType('channel.deleted', channelIds.length)
    const deleted = each.received.flatMap(({ envelope }) =>
      envelope.type === 'channel.deleted' ? [envelope.payload.channelId] : [],
    )
    expect(deleted.sort()).toEqual([...channelIds].sort())
  }
  await other.stop()
})
