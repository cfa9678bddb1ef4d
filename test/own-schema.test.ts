import { topics } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { erased } from './support/cleanup.ts'
import { silentLog } from './support/jobs.ts'
import { withoutCleanup } from './support/locks.ts'
import { serveProvider } from './support/provider.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { createSharedDatabase } from './support/roles.ts'
import { until } from './support/until.ts'
import { createWorld, type World } from './support/world.ts'

/** Two services in one database, each with a role that owns a schema and nothing else. */

const SCHEMAS = ['chat_one', 'chat_two'] as const
// Nodes learn of each other's events by notes alone.
const timings = { reconcileMs: 3_600_000 }
let shared: Awaited<ReturnType<typeof createSharedDatabase>>
let provider: Awaited<ReturnType<typeof serveProvider>>
let one: World
let two: World

beforeAll(async () => {
  shared = await createSharedDatabase()
  provider = await serveProvider()
  const startIn = async (schema: string) => {
    const { role, urlOf } = await shared.createRole()
    await shared.admin.unsafe(`create schema ${schema} authorization ${role}`)
    // The service must ignore the role's own preferences.
    await shared.admin.unsafe(`alter role ${role} set DateStyle = 'German'`)
    await migrate(urlOf(schema))
    const jobs = { push: provider.settings, log: silentLog }
    return createWorld({ databaseUrl: urlOf(schema), jobs, timings })
  }
  one = await startIn(SCHEMAS[0])
  two = await startIn(SCHEMAS[1])
})
afterAll(async () => {
  for (const world of [one, two]) await world?.stop()
  await provider?.stop()
  await shared?.drop()
})

const createTalk = async (world: World) => {
  const [ana, ben] = await world.users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  return { ana, ben, channelId }
}

test('a role that owns only a schema can serve messages, nodes, jobs and cleanup', async () => {
  const { ana, ben, channelId } = await createTalk(one)
  const node = await createWorld({ databaseUrl: one.databaseUrl, timings })
  onTestFinished(() => node.stop())
  const client = centrifugeOf(node, ben)
  onTestFinished(() => client.disconnect())
  const listener = await listen(client, topics.channel(one.appId, channelId))
  const { id } = await ana.messages.send({ channelId, text: 'hello' })
  await listener.until((events) => events.some(({ envelope }) => envelope.type === 'message.new'))
  await until(() =>
    provider.triggered().some(({ transactionId }) => transactionId?.startsWith(`${id}:ben`)),
  )
  await one.backend.users.delete({ userId: 'ben' })
  await erased(one)
})

test('in a schema of its own, a job that was given up is listed and can be retried', async () => {
  await one.db`
    insert into staged_jobs (task, payload, created_at)
    values (
      'push-message',
      ${one.db.json({ appId: one.appId, messageId: one.appId })},
      now() - interval '30 days'
    )`
  const listed = async () => (await one.operator.jobs.list({ appId: one.appId })).jobs
  const [job] = await until(async () => {
    const jobs = await listed()
    return jobs.length > 0 && jobs
  })
  expect(job).toMatchObject({ task: 'push-message', reason: 'too old' })
  await one.operator.jobs.retry({ appId: one.appId, jobId: job?.id ?? '' })
  expect(await listed()).toEqual([])
})

test('everything of a service in its own schema is there and nowhere else', async () => {
  const places = await shared.admin`
    select distinct relnamespace::regnamespace::text as schema
    from pg_class
    where relkind in ('r', 'v', 'S')
      and relowner in (select usesysid from pg_user where not usesuper)`
  expect(places.map(({ schema }) => schema).sort()).toEqual([...SCHEMAS])
})

test('services in two schemas of a database receive nothing of each other', async () => {
  const senders = new Map<string, Set<string>>()
  const listener = connectOnce(one.databaseUrl)
  onTestFinished(() => listener.end())
  for (const channel of ['parley', ...SCHEMAS.map((schema) => `parley_${schema}`)]) {
    const nodes = new Set<string>()
    senders.set(channel, nodes)
    await listener.listen(channel, (payload) => nodes.add(payload.split('\n')[0] ?? ''))
  }
  for (const world of [one, two]) {
    const { ana, channelId } = await createTalk(world)
    await ana.messages.send({ channelId, text: 'hello' })
  }
  const [none, ...both] = [...senders.values()]
  await until(() => both.every(({ size }) => size > 0))
  expect(none?.size).toBe(0)
  const nodes = both.flatMap((nodes) => [...nodes])
  expect(new Set(nodes).size).toBe(nodes.length)
})

test('services in two schemas of a database do not wait for each other', async () => {
  await createTalk(two)
  await withoutCleanup(one, async () => {
    await two.backend.users.delete({ userId: 'ben' })
    await erased(two)
  })
})

test('a missing or foreign schema fails with an error that says what to do', async () => {
  const { role, urlOf } = await shared.createRole()
  const refusal = (schema: string) => expect(migrate(urlOf(schema))).rejects
  const missing = (schema: string) =>
    new RegExp(
      `^DATABASE_SCHEMA: the database \\w+ has no schema ${schema} that the role ${role} may ` +
        `use. Make one: create schema ${schema} authorization ${role}$`,
    )
  await refusal('nowhere').toThrow(missing('nowhere'))
  await refusal(SCHEMAS[0]).toThrow(missing(SCHEMAS[0]))
  await refusal('public').toThrow(
    `DATABASE_SCHEMA: the role ${role} may not create tables in the schema public. ` +
      `Make it the owner: alter schema public owner to ${role}`,
  )
})
