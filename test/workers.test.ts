import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { idle } from './support/idle.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { page } from './support/pages.ts'
import { centrifugeOf, listen } from './support/realtime.ts'
import { slowness } from './support/slowness.ts'
import { until } from './support/until.ts'

const staging = useStagingWorld()
const { startNode, startNodeWithoutProvider, startWorker, stopLast, send, sendsOf, withPreviews } =
  staging

const startPreviewWorker = (variables: Record<string, string> = {}) => {
  const { world, web } = staging.current()
  return startWorker({
    DATABASE_URL: world.databaseUrl,
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
    ...variables,
  })
}

/** A page that never answers the first request, and has this title from the second on. */
function serveOnSecondRequest(path: string, title: string) {
  const { web } = staging.current()
  let requests = 0
  web.pages[path] = (response) => {
    requests += 1
    if (requests === 1) return
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(`<title>${title}</title>`))
  }
  return { url: `${web.url}${path}`, requests: () => requests }
}

/** Code that writes to the console, as some libraries do. */
const library = "process.on('SIGTERM', () => console.warn('odd'))"

test('a separate worker runs jobs, publishes their events, and exits on SIGTERM', async () => {
  const { world, web, provider, ana, channelId } = staging.current()
  const client = centrifugeOf(world, ana)
  onTestFinished(() => client.disconnect())
  const observer = await listen(client, topics.channel(world.appId, channelId))
  const { child, exited, output } = startWorker({
    DATABASE_URL: world.databaseUrl,
    LINK_PREVIEW_ALLOW_HOSTS: web.host,
    PUSH_SECRET_KEY: 'key',
    PUSH_API_URL: provider.settings.apiUrl,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(library)}`,
  })
  const { id } = await send(`${web.url}/page`)
  const { rev } = await withPreviews(id)
  await observer.until((events) =>
    events.some(({ envelope, offset }) => envelope.type === 'message.updated' && offset === rev),
  )
  await until(() => provider.kindsFor('ben').includes('new-message'))
  await idle(world)
  expect(observer.types).toEqual(['message.new', 'message.updated'])
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  const lines = output().trim().split('\n')
  const said = lines.map((line) => JSON.parse(line))
  expect(said).toContainEqual(expect.objectContaining({ level: 'info', msg: 'worker started' }))
  expect(said).toContainEqual(expect.objectContaining({ level: 'warn', msg: 'odd' }))
})

test("a file named crontab in the folder of a worker's start does not stop jobs", async () => {
  const { web } = staging.current()
  const folder = mkdtempSync(join(tmpdir(), 'parley-crontab-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'crontab'), 'of another program')
  const { child, exited, output } = startPreviewWorker({
    NODE_OPTIONS: `--import=data:text/javascript,process.chdir('${folder}')`,
  })
  await withPreviews((await send(`${web.url}/page`)).id)
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(output()).not.toContain('crontab')
})

test('a worker without DATABASE_URL exits with an error that names it', async () => {
  const { exited, output } = startWorker({ EMBEDDED_DATABASE: 'yes' })
  expect(await exited).toEqual([1, null])
  const line = JSON.parse(output()) // one, of the log
  expect(line.level).toBe('fatal')
  expect(line.msg).toMatch(/^DATABASE_URL: required by a worker.*$/)
})

test('the job of a killed worker is run by another worker', async () => {
  const { world } = staging.current()
  const { url, requests } = serveOnSecondRequest('/twice', 'At last')
  const { id } = await send(url)
  const { child, exited } = startPreviewWorker()
  await until(() => requests() === 1)
  child.kill('SIGKILL')
  await exited
  await startNode({ timings: { heartbeatMs: 300 } })
  expect((await withPreviews(id)).linkPreviews[0]?.title).toBe('At last')
  await idle(world)
})

test('a job that its stopping worker interrupted is run later', async () => {
  const { world } = staging.current()
  const { url, requests } = serveOnSecondRequest('/stopped', 'Later')
  const { id } = await send(url)
  await startNode()
  await until(() => requests() === 1)
  const start = performance.now()
  await stopLast()
  // Without the interruption it would have gone on for 8 s.
  expect(performance.now() - start).toBeLessThan(7_000 * slowness)
  // Skip the pause after a failure.
  await world.db`update graphile_worker._private_jobs set run_at = now()`
  await startNode()
  expect((await withPreviews(id)).linkPreviews[0]?.title).toBe('Later')
})

/** Keeps the provider from answering the push of a message. Returns the calls. */
async function sendUnanswered() {
  const { world, provider } = staging.current()
  await idle(world)
  const calls: ServerResponse[] = []
  provider.behave((response) => void calls.push(response))
  await send('not answered')
  await until(() => calls.length === 1)
  return calls
}

test('a process that stops keeps the job that it still runs from others', async () => {
  const { world, provider } = staging.current()
  // It gives its job the time that it takes.
  await startNode({ timings: { graceMs: 600_000 } })
  const calls = await sendUnanswered()
  const stopped = stopLast()
  provider.behave()
  await startNode()
  // The other one runs what comes after it.
  for (const text of ['later', 'last']) {
    const { id } = await send(text)
    await until(() => sendsOf(id) === 1)
  }
  for (const call of calls) call.writeHead(201).end('{"data":{"status":"processed"}}')
  await stopped
  await idle(world)
  expect(provider.kindsFor('ben')).toHaveLength(3)
})

/** From now on the queue takes no job, as if the disk were full. */
async function refuseJobs() {
  const { db } = staging.current().world
  await db.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no room' using errcode = '53100';
    end $$;
    create trigger refuse before insert on graphile_worker._private_jobs
      execute function refuse()`)
  const accept = async () => void (await db.unsafe('drop function if exists refuse cascade'))
  onTestFinished(accept)
  return accept
}

/** How often each push may still be taken from the queue. */
async function attemptsLeft() {
  const jobs = await staging.current().world.db<{ left: number }[]>`
    select max_attempts - attempts as left
    from graphile_worker.jobs
    where task_identifier = 'push-message'`
  return jobs.map(({ left }) => left)
}

test('a job that a stopping process cannot return to the queue has used no attempt', async () => {
  await startNode()
  await sendUnanswered()
  await refuseJobs()
  await stopLast()
  expect(await attemptsLeft()).toEqual([5])
})

test('a job that cannot be put off has used no attempt', async () => {
  const lines: string[] = []
  const log = { ...silentLog, debug: (_: object, line: string) => void lines.push(line) }
  await startNode({ timings: { backOffMs: 1, heartbeatMs: 300 }, log })
  const calls = await sendUnanswered()
  const acceptJobs = await refuseJobs()
  calls[0]?.writeHead(503).end()
  await until(() => lines.includes('job interrupted'))
  await acceptJobs()
  // It runs again, as if for the first time.
  await until(() => calls.length === 2)
  expect(await attemptsLeft()).toEqual([4])
})

test('without a push provider, pushes are left to others and reported once', async () => {
  const { world, web, provider } = staging.current()
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
  await startNodeWithoutProvider(log)
  provider.forget()
  const { id } = await send(`look ${web.url}/page`)
  // The previews were made, so the process has drained jobs since the message was sent.
  await withPreviews(id)
  const staged = () => world.db`select task from staged_jobs`
  expect(await staged()).toEqual([{ task: 'push-message' }])
  expect(warnings).toEqual([])
  await world.db`update staged_jobs set created_at = now() - interval '2 minutes'`
  await until(() => warnings.length > 0)
  await withPreviews((await send(`again ${web.url}/page`)).id)
  expect(warnings).toEqual(['staged jobs unclaimed: this process does not handle their task'])
  expect(await staged()).toHaveLength(2)
  await startNode()
  await until(() => provider.triggered().length === 2)
  await idle(world)
  expect(provider.kindsFor('ben')).toEqual(['new-message', 'new-message'])
})
