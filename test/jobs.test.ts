import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { topics } from '@parley/contract'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { page, servePages } from './support/pages.ts'
import { serveProvider } from './support/provider.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { until } from './support/until.ts'
import { createWorld, SECRET, type User, type World } from './support/world.ts'

let web: Awaited<ReturnType<typeof servePages>>
let provider: Awaited<ReturnType<typeof serveProvider>>
/** JOBS=external: promises, and keeps none itself. */
let world: World
let ana: User
let channelId: string
const running: { stop: () => Promise<unknown> }[] = []
beforeAll(async () => {
  web = await servePages({ '/page': page('<title>Page</title>') })
  provider = await serveProvider()
  // Nobody compares with the log: what sockets hear, they were told.
  world = await createWorld({
    timings: { reconcileMs: 600_000 },
    jobs: { isElsewhere: true, push: provider.settings },
  })
  ;[ana] = await world.users('ana', 'ben')
  channelId = (await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })).id
})
afterEach(async () => {
  for (const { stop } of running.splice(0)) await stop()
  provider.behave()
})
// What was left before, given up or not yet done, is not a test's to do.
beforeEach(async () => {
  await world.db`truncate staged_jobs`
  await world.db`do $$ begin if to_regclass('graphile_worker._private_jobs') is not null then delete from graphile_worker._private_jobs; end if; end $$`
  provider.forget()
})
afterAll(async () => {
  await world.stop()
  await Promise.all([web.stop(), provider.stop()])
})

/** Another node on the same database, which does the work. */
async function workBeside(options: { timings?: { beatMs: number }; log?: typeof silent } = {}) {
  const node = await createWorld({
    databaseUrl: world.databaseUrl,
    jobs: { push: provider.settings, previews: { allowedHosts: [web.host] }, ...options },
  })
  running.push(node)
  return node
}
/** `npm run worker`. */
function startWorker(variables: Record<string, string>) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--conditions=parley-source', '--import', 'tsx', 'server/bin/worker.ts'],
    {
      cwd: root,
      env: { PATH: process.env.PATH, NODE_ENV: 'production', JWT_SECRET: SECRET, ...variables },
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit')
  running.push({ stop: async () => child.kill('SIGKILL') && exited })
  return { child, exited, said: () => output }
}
const silent = {
  debug: () => {},
  info: () => {},
  warn: (_: object, _message: string) => {},
  error: (_: object, _message: string) => {},
}

const send = (text: string) => ana.messages.send({ channelId, text })
const untilMade = (messageId: string) =>
  until(async () => {
    const message = await ana.messages.get({ channelId, messageId })
    return message.linkPreviews && { ...message, linkPreviews: message.linkPreviews }
  })
const previewed = async (messageId: string) => (await untilMade(messageId)).linkPreviews

test('a worker of its own does the work of a server, tells those who listen there, and ends when told to', async () => {
  const client = centrifugeOf(world, ana)
  onTestFinished(() => client.disconnect())
  const ear = await listen(client, topics.channel(world.appId, channelId))
  const { child, exited, said } = startWorker({
    DATABASE_URL: world.databaseUrl,
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
    PUSH_SECRET_KEY: 'key',
    PUSH_API_URL: provider.settings.apiUrl,
  })
  const { id } = await send(`${web.url}/page`)
  const { rev } = await untilMade(id)
  await ear.until((heard) =>
    heard.some(({ envelope, offset }) => envelope.type === 'message.updated' && offset === rev),
  )
  await until(() => provider.kindsFor('ben').includes('new-message'))
  await idle(world)
  expect(ear.types).toEqual(['message.new', 'message.updated'])
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(said()).toContain('carrying out jobs')
})

test('where jobs are carried out, the clean-up is one of them, every minute', async () => {
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  await ana.invites.create({ workspaceId })
  await world.db`update workspace_invites set expires_at = now() - interval '1 second'`
  await workBeside()
  await until(
    async () =>
      (
        await world.db`select from graphile_worker._private_known_crontabs where identifier = 'cleanup'`
      ).length === 1,
  )
  // As when the minute is over.
  await world.db`select graphile_worker.add_job('cleanup', job_key := 'cleanup', max_attempts := 1)`
  await until(async () => (await world.db`select from workspace_invites`).length === 0)
})

test('a worker without a database says so', async () => {
  const { exited, said } = startWorker({})
  expect(await exited).toEqual([1, null])
  expect(said()).toMatch(/^DATABASE_URL: required by a worker.*\n$/)
})

test('the job of a worker that was killed is taken up by another', async () => {
  let asked = 0
  web.pages['/twice'] = (response) => {
    asked += 1
    if (asked > 1)
      response.writeHead(200, { 'content-type': 'text/html' }).end(page('<title>At last</title>'))
  }
  const { id } = await send(`${web.url}/twice`)
  const { child, exited } = startWorker({
    DATABASE_URL: world.databaseUrl,
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
  })
  await until(() => asked === 1)
  child.kill('SIGKILL')
  await exited
  await workBeside({ timings: { beatMs: 300 } })
  expect((await previewed(id))[0]?.title).toBe('At last')
  await idle(world)
})

test('the job of a worker that is stopped in the middle of it is taken up later', async () => {
  let asked = 0
  web.pages['/stopped'] = (response) => {
    asked += 1
    if (asked > 1)
      response.writeHead(200, { 'content-type': 'text/html' }).end(page('<title>Later</title>'))
  }
  const { id } = await send(`${web.url}/stopped`)
  await workBeside()
  await until(() => asked === 1)
  const start = Date.now()
  await running.pop()?.stop()
  expect(Date.now() - start).toBeLessThan(4_500)
  // It waits a few seconds after a failure.
  await world.db`update graphile_worker._private_jobs set run_at = now()`
  await workBeside()
  await previewed(id)
})

test('a hanging page delays no push, a hanging provider no preview', async () => {
  await workBeside()
  await idle(world)
  provider.forget()
  const hanging: (() => void)[] = []
  web.pages['/hanging'] = (response) => void hanging.push(() => response.writeHead(404).end())
  for (let index = 0; index < 12; index++)
    await send(`${web.url}/hanging#${index} ${web.url}/hanging?${index}`)
  await until(() => hanging.length > 0 && provider.kindsFor('ben').length === 12)
  web.pages['/hanging'] = page('')
  for (const release of hanging) release()
  await idle(world)

  provider.behave((response) => void hanging.push(() => response.writeHead(200).end()))
  hanging.length = 0
  for (let index = 0; index < 12; index++) await send(`hello ${index}`)
  await until(() => hanging.length > 0)
  await previewed((await send(`${web.url}/page while others hang`)).id)
  provider.behave()
  for (const release of hanging) release()
  await idle(world)
})

test('a job that can not succeed ends after five tries and is told of; those beside it are done', async () => {
  const told: string[] = []
  const tell = (_: object, message: string) => void told.push(message)
  const { metrics } = await workBeside({ log: { ...silent, warn: tell, error: tell } })
  await idle(world)
  provider.forget()
  const { id } = await send('beside the poison')
  await world.db`
    insert into staged_jobs (task, payload)
    select 'push-message', json_build_object('appId', 'no uuid', 'messageId', ${id}::text) union all
    select 'push-message', json_build_object('appId', ${world.appId}::text, 'messageId', ${id}::text)`
  await until(() => told.includes('job failed'))
  await until(() => provider.kindsFor('ben').length > 0)
  for (let tries = 2; tries <= 5; tries++) {
    await until(
      async () =>
        (
          await world.db`update graphile_worker._private_jobs set run_at = now() where attempts = ${tries - 1} and last_error is not null and locked_at is null returning 1`
        ).length > 0,
    )
    await until(() => told.filter((message) => message === 'job failed').length === tries)
  }
  await until(() => told.includes('job given up'))
  const dead =
    await world.db`select attempts, max_attempts, last_error from graphile_worker.jobs where task_identifier <> 'cleanup'`
  expect(dead).toEqual([
    { attempts: 5, maxAttempts: 5, lastError: expect.stringContaining('uuid') },
  ])
  expect(await metrics.registry.getSingleMetricAsString('parley_jobs_total')).toContain(
    '{task="push-message",outcome="given_up"} 1',
  )
})

test('what was promised an hour ago is not pushed any more, what is younger is', async () => {
  const told: string[] = []
  await workBeside({ log: { ...silent, error: (_, message) => void told.push(message) } })
  const [old, young] = [await send('old news'), await send('young news')]
  await idle(world)
  provider.forget()
  const stage = ({ id }: { id: string }, minutes: number) => world.db`
    insert into staged_jobs (task, payload, created_at)
    values ('push-message', ${world.db.json({ appId: world.appId, messageId: id })}, now() - make_interval(mins => ${minutes}))`
  await stage(old, 61)
  await idle(world)
  expect(told).toEqual(['job given up: too old'])
  await stage(young, 59)
  await idle(world)
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: young.id } }])
})

test('promises are kept once, whoever drains them', async () => {
  await Promise.all([workBeside(), workBeside(), workBeside()])
  await idle(world)
  provider.forget()
  const sent = await Promise.all(Array.from({ length: 40 }, (_, index) => send(`number ${index}`)))
  await idle(world)
  expect(
    provider
      .triggered()
      .map(({ transactionId }) => transactionId)
      .sort(),
  ).toEqual(sent.map(({ id }) => `${id}:ben:new-message`).sort())
})

test('a channel whose members are too slow to read costs no other channel its push', async () => {
  const slow = await ana.channels.create({ type: 'group', name: 'Slow', memberIds: ['ben'] })
  await workBeside()
  await idle(world)
  await running.pop()?.stop()
  provider.forget()
  await ana.messages.send({ channelId: slow.id, text: 'slow' })
  const { id } = await send('beside the slow')
  await world.db.unsafe(`
    create function is_quick(channel_id uuid) returns boolean language plpgsql as $$ begin
      if channel_id = '${slow.id}' then raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end if;
      return true;
    end $$;
    alter table members rename to all_members;
    create view members as select * from all_members where is_quick(channel_id)`)
  onTestFinished(async () => {
    await world.db.unsafe(
      'drop view members; alter table all_members rename to members; drop function is_quick',
    )
    await world.db`select graphile_worker.permanently_fail_jobs(array(select id from graphile_worker.jobs), 'too slow')`
  })
  await workBeside()
  await until(() => provider.triggered().length > 0)
  expect(provider.triggered()).toMatchObject([{ to: 'ben', payload: { messageId: id } }])
  const alone = await until(async () => {
    const rows = await world.db<{ jobs: number }[]>`
      select json_array_length(payload->'jobs') as jobs from graphile_worker._private_jobs where last_error like '%statement timeout' and attempts < max_attempts`
    return rows.length > 0 && rows
  })
  expect(alone).toEqual([{ jobs: 1 }])
  await running.pop()?.stop()
})

test('a process without a push provider leaves pushes to those that have one, and says once that they wait', async () => {
  const told: string[] = []
  const log = { ...silent, warn: (_: object, message: string) => void told.push(message) }
  const without = await createWorld({
    databaseUrl: world.databaseUrl,
    jobs: { previews: { allowedHosts: [web.host] }, log },
  })
  running.push(without)
  provider.forget()
  // Its previews come, so it has been at work since.
  const { id } = await send(`look ${web.url}/page`)
  await previewed(id)
  const waiting = () => world.db`select task from staged_jobs`
  expect(await waiting()).toEqual([{ task: 'push-message' }])
  await world.db`update staged_jobs set created_at = now() - interval '2 minutes'`
  await until(() => told.length > 0)
  await previewed((await send(`again ${web.url}/page`)).id)
  expect(told).toEqual(['jobs wait that this process can not do'])
  expect(await waiting()).toHaveLength(2)
  await workBeside()
  await until(() => provider.triggered().length === 2)
  await idle(world)
  expect(provider.kindsFor('ben')).toEqual(['new-message', 'new-message'])
})
