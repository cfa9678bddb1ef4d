import { runInTransaction } from '@parley/server/core/context'
import { createEventBus } from '@parley/server/core/event-bus'
import { connectOnce, createDb, type DbConnection } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { type Answer, expectError, post } from './support/raw.ts'
import { lockSilently } from './support/stuck-session.ts'
import { createWorld, type User, useWorld, type World } from './support/world.ts'

/** The database closes connections here, with a FIN, in the middle of transactions. */

const world = useWorld()
let proxy: Awaited<ReturnType<typeof openDatabaseProxy>>
let node: World
let ana: User
let channelId: string

beforeAll(async () => {
  proxy = await openDatabaseProxy(world().databaseUrl)
  node = await createWorld({ databaseUrl: proxy.url, poolSize: 3 })
  ana = await node.user('ana')
  channelId = (await ana.channels.create({ type: 'group', name: 'Talk' })).id
})
afterAll(async () => {
  await node?.stop()
  proxy?.stop()
})

const openPool = (url: string) =>
  createDb({
    url,
    poolSize: 1,
    applicationName: 'lost-connections',
    patience: { callMs: 60_000, statementMs: 50_000 },
  })

/** The codes of a lost connection. */
const lost = /^(CONNECTION_CLOSED|ECONNRESET|EPIPE)$/

const call = (method: string, path: string, body: object): Promise<Answer> =>
  post(node.url, path, {
    method,
    headers: { Authorization: `Bearer ${ana.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
const expectUnavailable = (answer: Answer) => {
  expectError(answer, 'UNAVAILABLE')
  expect(answer.headers['retry-after']).toBe('1')
}
/** Makes the call with its connection closed at each place in turn, until it has no such place. */
async function closeEverywhere(write: (place: string) => Promise<Answer>) {
  const deaths = watchForDeath()
  let refusals = 0
  let isOver = false
  for (let answer = 1; !isOver; answer++) {
    for (const isDelivered of [false, true]) {
      const before = proxy.lostCount()
      proxy.closeAt({ answer, isDelivered })
      const first = await write(`${answer}-${isDelivered}`)
      isOver = proxy.lostCount() === before
      if (first.status < 300) continue
      expectUnavailable(first)
      refusals += 1
    }
  }
  proxy.closeAt(undefined)
  expect(deaths).toEqual([])
  return refusals
}

test('a transaction with a failure that was caught reports that nothing was stored', async () => {
  const { db } = world()
  await db`create table stored (name text)`
  const work = node.pool.use((connection) =>
    transaction(connection, async (tx) => {
      await tx`insert into stored values ('lost')`
      await tx`select 1 / ${0}::int`.catch(() => {})
    }),
  )
  await expect(work).rejects.toThrow('rolled back')
  expect(await db`select * from stored`).toEqual([])
})

test('a transaction that failed leaves nothing for the next one on its connection', async () => {
  const { db, pool } = world()
  await db`create table kept (name text)`
  await pool.use(async (connection) => {
    const failing = transaction(connection, async (tx) => {
      await tx`insert into kept values ('failed')`
      throw new Error('changed its mind')
    })
    await expect(failing).rejects.toThrow('changed its mind')
    await transaction(connection, (tx) => tx`insert into kept values ('next')`)
  })
  expect(await db`select name from kept`).toEqual([{ name: 'next' }])
})

test('nothing is written if the transaction could not begin', async () => {
  const { db, pool, appId } = world()
  await db`create table unbegun (name text)`
  const { publisher } = createEventBus()
  for (const writesLast of [true, false]) {
    const work = pool.use((connection) =>
      runInTransaction(
        failingToBegin(connection),
        { appId, publisher, writesLast },
        async ({ db, queueWrite }) => {
          const insert = db`insert into unbegun values ('lost')`
          if (writesLast) queueWrite(insert)
          else await insert
        },
      ),
    )
    await expect(work).rejects.toThrow('division by zero')
  }
  expect(await db`select * from unbegun`).toEqual([])
})

/** A connection on which another statement, which fails, is sent instead of `begin`. */
const failingToBegin = (connection: DbConnection) =>
  new Proxy(connection, {
    apply: (target, _, [strings, ...values]) =>
      strings[0] === 'begin' ? target`select 1 / ${0}::int` : target(strings, ...values),
  })

test('a connection closed anywhere in a batch of sends fails that batch only', async () => {
  const places: string[] = []
  const send = (clientId: string) =>
    call('POST', `/api/channels/${channelId}/messages`, { text: 'hi', clientId })
  const refusals = await closeEverywhere((place) => {
    places.push(place)
    return send(place)
  })
  expect(refusals).toBeGreaterThan(6)
  for (const place of places) expect((await send(place)).status).toBe(201)
  const { messages } = await ana.messages.list({ channelId, limit: 100 })
  expect(messages.map(({ clientId }) => clientId).sort()).toEqual(places.sort())
  expect(messages.map(({ seq }) => seq)).toEqual(places.map((_, index) => index + 1))
})

test('a connection closed anywhere in a transaction fails that call only', async () => {
  const edit = () =>
    call('PATCH', `/api/channels/${channelId}`, { description: `${Math.random()}` })
  expect(await closeEverywhere(edit)).toBeGreaterThan(4)
  expect((await edit()).status).toBe(200)
})

test('a call whose connection ends before it was opened is refused at once', async () => {
  const deaths = watchForDeath()
  const down = await openDatabaseProxy(world().databaseUrl)
  // Only the end of the connection can end the call: its deadline is after that of the test.
  const patience = { callMs: 600_000, statementMs: 600_000 }
  const one = await createWorld({ databaseUrl: down.url, poolSize: 1, patience })
  onTestFinished(async () => {
    down.comeBack()
    await one.stop()
    down.stop()
  })
  const bea = await one.user('bea')
  const talk = await bea.channels.create({ type: 'group', name: 'Talk' })
  const refused = { code: 'UNAVAILABLE' }
  down.goDown()
  for (let round = 0; round < 3; round++) {
    const edit = bea.channels.update({ channelId: talk.id, name: `${round}` })
    await expect(edit).rejects.toMatchObject(refused)
    const send = bea.messages.send({ channelId: talk.id, text: 'hi' })
    await expect(send).rejects.toMatchObject(refused)
  }
  expect(deaths).toEqual([])
}, 60_000)

test('a statement begun after its connection was closed is refused and runs nowhere', async () => {
  const deaths = watchForDeath()
  const { db } = world()
  await db`create table written (name text)`
  const names = async () => (await db<{ name: string }[]>`select * from written`).map((r) => r.name)
  // A pool of its own: each round opens a connection, and only its loss can end the work.
  const pool = openPool(proxy.url)
  onTestFinished(() => pool.end({ timeout: 0 }))
  const begun: string[] = []
  for (const pauseMs of [0, 1, 50]) {
    let late: Promise<unknown> = Promise.resolve()
    const work = pool.use((connection) =>
      transaction(connection, async (tx) => {
        await tx`insert into written values ('early')`
        proxy.closeAll()
        late = new Promise((resolve) => setTimeout(resolve, pauseMs)).then(async () => {
          begun.push(`after ${pauseMs} ms`)
          const [first, second] = await Promise.allSettled([
            tx`insert into written values ('late')`,
            tx`insert into written values (${'later'})`,
          ])
          return [first.status, second.status]
        })
        return late
      }),
    )
    await expect(work).rejects.toMatchObject({ code: expect.stringMatching(lost) })
    expect(await late).toEqual(['rejected', 'rejected'])
  }
  expect(begun).toHaveLength(3)
  expect(await names()).toEqual([])
  expect(deaths).toEqual([])
})

test('a node that is cut off in a transaction frees its locks within 2.5 s', async () => {
  const other = connectOnce(world().databaseUrl)
  onTestFinished(() => other.end())
  // Lines of its own: the node of the other tests would wait for answers on silent ones.
  const cut = await openDatabaseProxy(world().databaseUrl)
  const pool = openPool(cut.url)
  onTestFinished(async () => {
    await pool.end({ timeout: 0 })
    cut.stop()
  })
  let isLocked = (_pauseMs: number | undefined) => {}
  const locked = new Promise<number | undefined>((resolve) => (isLocked = resolve))
  const stalled = pool.use((connection) =>
    transaction(connection, async (tx) => {
      await tx`select from channels where id = ${channelId} for update`
      // PostgreSQL counts this time from the last answer on, and then frees the locks. How long
      // that takes here depends on the machine as well.
      const [pause] = await tx<{ ms: number }[]>`
        select setting::int as ms
        from pg_settings
        where name = 'idle_in_transaction_session_timeout'`
      cut.silence()
      isLocked(pause?.ms)
      await other`select from channels where id = ${channelId} for update`
    }),
  )
  const rejected = expect(stalled).rejects.toMatchObject({ code: expect.stringMatching(lost) })
  const pauseMs = await locked
  expect(pauseMs).toBeGreaterThan(0)
  expect(pauseMs).toBeLessThanOrEqual(2_500)
  await other`select from channels where id = ${channelId} for update`
  await rejected
})

test('a session whose client falls silent before its Sync frees its locks', async () => {
  await lockSilently(world(), channelId)
  const other = connectOnce(world().databaseUrl)
  onTestFinished(() => other.end())
  await other`select from channels where id = ${channelId} for update`
})
