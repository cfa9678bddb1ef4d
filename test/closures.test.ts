import { connectOnce } from '@parley/server/db/client'
import { transaction } from '@parley/server/db/transaction'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { watchForDeath } from './support/deaths.ts'
import { type Answer, expectError, post } from './support/raw.ts'
import { patient } from './support/until.ts'
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
const writes: Record<string, (clientId: string) => Promise<Answer>> = {
  send: (clientId) => call('POST', `/api/channels/${channelId}/messages`, { text: 'hi', clientId }),
  edit: () => call('PATCH', `/api/channels/${channelId}`, { description: `${Math.random()}` }),
}

for (const [name, write] of Object.entries(writes)) {
  test(`a connection closed anywhere in a transaction only fails that ${name}`, async () => {
    const deaths = watchForDeath()
    const acknowledged = []
    const statuses: number[] = []
    let isOver = false
    for (let answer = 1; !isOver; answer++) {
      for (const isDelivered of [false, true]) {
        const clientId = `${name}-${answer}-${isDelivered}`
        proxy.closeAt({ answer, isDelivered })
        const closures = proxy.closures()
        const first = await write(clientId)
        statuses.push(first.status)
        if (first.status >= 300) expectUnavailable(first)
        proxy.closeAt(undefined)
        // The next call does not get the closed connection.
        await vi.waitFor(async () => expect((await write(clientId)).status).toBeLessThan(300), {
          ...patient,
          interval: 5,
        })
        acknowledged.push(clientId)
        isOver = proxy.closures() === closures
      }
    }
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(6)
    expect(deaths).toEqual([])
    if (name !== 'send') return
    const { messages } = await ana.messages.list({ channelId, limit: 100 })
    expect(messages.map((message) => message.clientId)).toEqual(acknowledged)
    expect(messages.map(({ seq }) => seq)).toEqual(acknowledged.map((_, index) => index + 1))
  })
}

test('a statement begun after its connection was closed is refused and runs nowhere', async () => {
  const deaths = watchForDeath()
  const { db } = world()
  await db`create table written (name text)`
  const names = async () => (await db<{ name: string }[]>`select * from written`).map((r) => r.name)
  const begun: string[] = []
  for (const pauseMs of [0, 1, 50]) {
    let late: Promise<unknown> = Promise.resolve()
    const work = node.pool.use((connection) =>
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

test('a transaction in which a caught statement failed reports that nothing was stored', async () => {
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

test('a node that is cut off in a transaction frees its locks within three seconds', async () => {
  const other = connectOnce(world().databaseUrl)
  onTestFinished(() => other.end())
  let isLocked = () => {}
  const locked = new Promise<void>((resolve) => (isLocked = resolve))
  const stalled = node.pool.use((connection) =>
    transaction(connection, async (tx) => {
      await tx`select from channels where id = ${channelId} for update`
      proxy.silence()
      isLocked()
      await other`select from channels where id = ${channelId} for update`
    }),
  )
  const rejected = expect(stalled).rejects.toMatchObject({ code: expect.stringMatching(lost) })
  await locked
  const began = performance.now()
  await other`select from channels where id = ${channelId} for update`
  expect(performance.now() - began).toBeLessThan(3_000)
  await rejected
})
