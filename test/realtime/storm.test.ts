import { once } from 'node:events'
import { topics } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { insertMembers, insertUsers } from '../support/inserted.ts'
import { whileRowLocked } from '../support/locks.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const sent: string[] = []
/** Nothing but connecting makes a statement, and none is too late, however slow the machine. */
const world = useWorld({
  timings: { ...quietTimings, connectMs: NEVER, pingMs: NEVER },
  onStatement: (statement) => void sent.push(statement),
})
const terminatedLater = useSockets()

const SOCKETS = 400
const MOST_STATEMENTS = SOCKETS / 20

const lockApps = (sql: Tx) => sql`lock table apps in access exclusive mode`
const lockConnections = (sql: Tx) => sql`lock table connections in access exclusive mode`
const lockChannels = (sql: Tx) => sql`lock table channels in access exclusive mode`

/** Resolves once the server has received what was sent: it answers a ping in its turn. */
async function receivedByServer({ socket }: RawSocket) {
  const answered = once(socket, 'pong')
  socket.ping()
  await answered
}

/** The number of statements for the sockets of these users, which come back all at once. */
async function statementsOfReturn() {
  const { appId, db, sign } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const ids = await insertUsers(world(), 'back-', SOCKETS)
  await insertMembers(world(), channelId, ids)
  for (const text of ['a', 'b', 'c']) await ana.messages.send({ channelId, text })
  const [epoch] = await db<{ value: string }[]>`
    select value
    from service
    where key = 'epoch'`
  // The node that they come from has just been killed.
  await db`insert into nodes (id) values ('killed')`
  await db`
    insert into connections (node_id, app_id, user_id)
    select 'killed', ${appId}::uuid, given
    from unnest(${ids}::text[]) given`
  const sockets = await Promise.all(
    ids.map(async (userId) => ({
      userId,
      raw: await terminatedLater(RawSocket.open(world())),
      token: await sign('ws', { appId, userId, generation: 0, isAdmin: false }),
    })),
  )
  const probe = await terminatedLater(RawSocket.connect(world(), ana))
  const since = { recover: true, epoch: epoch?.value, offset: 1 }
  sent.length = 0
  /** Commands are handled in their turns: once the last is refused, all others wait for a lock. */
  const allHandled = async () => {
    await Promise.all(sockets.map(({ raw }) => receivedByServer(raw)))
    const last = await terminatedLater(RawSocket.open(world()))
    last.send({ id: 1, subscribe: { channel: topics.user(appId, ana.id) } })
    await last.closed
  }
  const lookups = () => sent.filter((statement) => /token_generation/.test(statement)).length
  const areAnswered = async () => {
    const running = await db`
      select
      from pg_stat_activity
      where state = 'active'
        and pid <> pg_backend_pid()
        and query like '%token_generation%'`
    return running.length === 0
  }
  /** All tokens are looked up: in few statements, the first of which the first socket sent. */
  const tokensKnown = async () => {
    for (let before = 0; before !== lookups(); ) {
      before = lookups()
      await until(areAnswered)
      await allHandled()
    }
  }
  // No channel is looked up until all ask for theirs, no connection is stored until all tokens are
  // known, and no token is looked up until all have sent theirs, however long that takes.
  await whileRowLocked(world(), lockChannels, async () => {
    await whileRowLocked(world(), lockConnections, async () => {
      await whileRowLocked(world(), lockApps, async () => {
        for (const { raw, userId, token } of sockets)
          raw.send(
            { id: 1, connect: { token } },
            { id: 2, subscribe: { channel: topics.user(appId, userId) } },
            { id: 3, subscribe: { channel: topics.channel(appId, channelId), ...since } },
          )
        await allHandled()
      })
      await tokensKnown()
    })
    await Promise.all(sockets.map(({ raw }) => raw.reply(1)))
    // The same once they are connected.
    await probe.ask({ id: 9, publish: { channel: topics.channel(appId, channelId), data: {} } })
  })
  const replies = await Promise.all(sockets.map(({ raw }) => raw.reply(3)))
  const statements = sent.filter((statement) => !/set last_active_at/.test(statement))
  for (const { subscribe } of replies)
    expect(subscribe).toMatchObject({ recovered: true, publications: { length: 3 } })
  return statements.length
}

test('sockets that come back all at once cost a statement for twenty of them', async () => {
  expect(await statementsOfReturn()).toBeLessThanOrEqual(MOST_STATEMENTS)
})

test('a socket that is gone before its token was looked up leaves no user online', async () => {
  const { app, appId, db } = world()
  const [gone, here] = await world().users('gone', 'here')
  const raw = await terminatedLater(RawSocket.open(world()))
  const before = app.websocketServer.clients.size
  await whileRowLocked(world(), lockApps, async () => {
    raw.send({ id: 1, connect: { token: gone.minted.wsToken } })
    await until(async () => {
      const waiting = await db`
        select
        from pg_locks
        where not granted`
      return waiting.length > 0
    })
    raw.terminate()
    await until(() => app.websocketServer.clients.size < before)
  })
  await terminatedLater(RawSocket.connect(world(), here))
  const online = await db`
    select user_id
    from connections
    where app_id = ${appId}
      and user_id = any(${[gone.id, here.id]})`
  expect(online.map(({ userId }) => userId)).toEqual([here.id])
})
