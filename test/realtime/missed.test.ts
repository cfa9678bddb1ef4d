import { topics } from '@parley/contract'
import { runInTransaction } from '@parley/server/core/context'
import { describe, expect, onTestFinished, test } from 'vitest'
import { whileRowLocked, whileUserLocked } from '../support/locks.ts'
import { openProxy } from '../support/proxy.ts'
import { quietTimings } from '../support/quiet.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { counts, createGroup, namesOf, presenceOf, useListeners } from './listeners.ts'

const world = useWorld({
  presenceGraceSeconds: 0,
  // The heartbeat between two reconciliations is the first to see that its rows are lost.
  timings: { beatMs: 50, reconcileMs: 500, steadyMs: 0, comparePresenceMs: 500 },
})
const { connect, listenAs, userTopic, newUsers } = useListeners(world)

test('a node that missed notes sends its users the changes that they missed', async () => {
  const [ana, ben] = await newUsers()
  const [eve, dan] = await newUsers()
  const channelId = await createGroup(ana, ben, eve, dan)
  await ana.messages.send({ channelId, text: 'unread' })
  const dans = connect(dan)
  await dans.ready()
  const proxy = await openProxy(world().databaseUrl)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    brokerUrl: proxy.databaseUrl,
    timings: { brokerBeatMs: 100, brokerSilenceMs: 1_000, reconcileMs: 300, beatMs: 300 },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  // Eve was never sent a count; Ben was sent one.
  const eves = await listenAs(eve, userTopic(eve), node)
  const bens = await listenAs(ben, userTopic(ben), node)
  await node.api({ token: ben.token }).receipts.mark({
    channelId,
    messageId: (await ana.messages.send({ channelId, text: 'more' })).id,
  })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 0)
  await ana.messages.send({ channelId, text: 'last' })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 1)
  const before = [eves.received.length, bens.received.length] as const

  proxy.silence()
  proxy.redirect('postgres://127.0.0.1:1')
  await ben.reads.mark({ channelId })
  await eve.reads.mark({ channelId })
  const { users } = world().backend
  await users.put({ userId: ben.id, name: ben.id, custom: { plan: 'pro' } })
  await users.put({ userId: ana.id, name: 'Ana Renamed' })
  await ana.channels.update({ channelId, name: 'Channel Renamed' })
  dans.disconnect()
  await connect(ana).ready()
  await until(async () => (await connectedIds()).join() === [ana, ben, eve].map(idOf).sort().join())
  proxy.redirect(world().databaseUrl)

  for (const [listener, from] of [
    [eves, before[0]],
    [bens, before[1]],
  ] as const) {
    await listener.until(() => counts(listener, 'channel.unread_changed', from).at(-1) === 0)
    await listener.until(() => counts(listener, 'channel.total_unread_changed', from).at(-1) === 0)
    await listener.until(() => presenceOf(listener, dan.id).at(-1) === 'presence.offline')
    await listener.until(() => presenceOf(listener, ana.id).at(-1) === 'presence.online')
    await listener.until(() => namesOf(listener, ana.id).at(-1) === 'Ana Renamed')
    await listener.untilType('channel.updated')
    expect(namesOf(listener, ben.id)).toEqual([])
  }
})

const idOf = ({ id }: { id: string }) => id
const connectedIds = async () => {
  const rows = await world().db<{ userId: string }[]>`
    select user_id
    from connections
    where app_id = ${world().appId}`
  return rows.map(({ userId }) => userId).sort()
}

test('the users of a dead node go offline when its rows are lost in a crash', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const dead = await createWorld({
    databaseUrl: world().databaseUrl,
    timings: quietTimings,
  })
  onTestFinished(dead.stop)
  const anas = await listenAs(ana, userTopic(ana))
  await connect(ben, dead).ready()
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.online')
  await world().db`delete from connections where app_id = ${world().appId}`
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.offline')
})

/** The connections that wait to write who is connected. */
const waitingWriters = () => world().db`
  select pid
  from pg_stat_activity
  where datname = current_database()
    and wait_event_type = 'Lock'
    and query like '%insert into connections%'`

test('users whose rows a crash took learn who left before the rows were back', async () => {
  const [ana, ben] = await newUsers()
  const [eve] = await newUsers()
  await createGroup(ana, ben, eve)
  const anas = await listenAs(ana, userTopic(ana))
  const eves = await listenAs(eve, userTopic(eve))
  const bens = connect(ben)
  await bens.ready()
  for (const listener of [anas, eves])
    await listener.until(() => presenceOf(listener, ben.id).at(-1) === 'presence.online')
  // Her row is not restored until the node has looked up whom to notify, and found Eve alone.
  await whileUserLocked(world(), ana.id, async () => {
    await whileRowLocked(
      world(),
      (sql) => sql`lock table connections in access exclusive mode`,
      async (sql) => {
        bens.disconnect()
        // A node writes in turns. Ben's comes before that of Ana, who waits for her lock.
        await until(async () => (await waitingWriters()).length > 0)
        await sql`
          delete from connections
          where app_id = ${world().appId}
            and user_id = ${ana.id}`
      },
    )
    await eves.until(() => presenceOf(eves, ben.id).at(-1) === 'presence.offline')
  })
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.offline')
})

/** During `work`, co-members cannot be looked up: what is to be sent to them fails. */
const whileFanOutFails = (work: () => Promise<unknown>) =>
  whileRowLocked(
    world(),
    (sql) => sql`lock table channels in access exclusive mode`,
    async () => {
      await work()
      await until(async () => {
        const cancelled = await world().db`
          select pg_cancel_backend(pid)
          from pg_stat_activity
          where datname = current_database()
            and pid <> pg_backend_pid()
            and wait_event_type = 'Lock'
            and query like '%shared as materialized%'`
        return cancelled.length > 0
      })
    },
  )

test('users learn who left even if the database failed at that moment', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const anas = await listenAs(ana, userTopic(ana))
  const bens = connect(ben)
  await bens.ready()
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.online')
  await whileFanOutFails(async () => bens.disconnect())
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.offline')
})

test('users learn of a name that could not be sent, also when it is no longer new', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const anas = await listenAs(ana, userTopic(ana))
  await whileFanOutFails(async () => {
    await world().backend.users.put({ userId: ben.id, name: 'Ben Renamed' })
    await world().db`
      update users
      set profile_changed_at = profile_changed_at - interval '1 minute'
      where app_id = ${world().appId}
        and id = ${ben.id}`
  })
  await anas.until(() => namesOf(anas, ben.id).at(-1) === 'Ben Renamed')
})

describe('changes by a node whose notes were lost', () => {
  const terminatedLater = useSockets()
  const silent = { publish: () => {}, broadcast: () => {} }

  test('a revocation whose note was lost closes the sockets of the user', async () => {
    const [ana, ben] = await newUsers()
    const [anas, bens] = [
      await terminatedLater(RawSocket.connect(world(), ana)),
      await terminatedLater(RawSocket.connect(world(), ben)),
    ]
    await world().db`
      update users
      set token_generation = token_generation + 1
      where app_id = ${world().appId}
        and id = ${ben.id}`
    expect((await bens.closed).code).toBe(3503)
    const subscribe = { channel: userTopic(ana) }
    expect((await anas.ask({ id: 2, subscribe })).subscribe).toBeDefined()
  })

  test('a removal from a workspace whose note was lost ends subscriptions', async () => {
    const { appId, pool } = world()
    const [ana, ben] = await newUsers()
    const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
    await ben.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
    const team = { type: 'team', name: 'Open', workspaceId } as const
    const { id: channelId } = await ana.channels.create(team)
    const raw = await terminatedLater(RawSocket.connect(world(), ben))
    const channel = topics.channel(appId, channelId)
    expect((await raw.ask({ id: 2, subscribe: { channel } })).subscribe).toBeDefined()
    await pool.use((connection) =>
      runInTransaction(connection, { appId, publisher: silent }, async ({ db, emitToUser }) => {
        await db`
          delete from workspace_members
          where app_id = ${appId}
            and workspace_id = ${workspaceId}
            and user_id = ${ben.id}`
        emitToUser(ben.id, 'workspace.removed', { workspaceId })
      }),
    )
    await raw.pushed((push) => push.channel === channel && push.unsubscribe?.code === 2000)
  })

  test('a message whose note was lost changes the unread counts', async () => {
    const { db, appId } = world()
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const bens = await listenAs(ben, userTopic(ben))
    await db`
      with sent as (
        insert into messages (
          id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments
        )
        values (gen_random_uuid(), ${appId}, ${channelId}, ${ana.id}, 1, 9, 'hi', '{}', '[]')
      ), counted as (
        update channels
        set last_seq = 1, rev = 9
        where id = ${channelId}
      )
      insert into events (topic, "offset", type, envelope)
      values (${topics.channel(appId, channelId)}, 9, 'message.new', '{}')`
    await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 1)
  })
})
