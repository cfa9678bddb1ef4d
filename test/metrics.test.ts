import { once } from 'node:events'
import { createServer } from 'node:net'
import { startMetrics } from '@parley/server/http/metrics'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { page, servePages } from './support/pages.ts'
import { serveProvider } from './support/provider.ts'
import { refusal } from './support/refusal.ts'
import { createWorld, type World } from './support/world.ts'

let web: Awaited<ReturnType<typeof servePages>>
let provider: Awaited<ReturnType<typeof serveProvider>>
let world: World
let url = ''
let stopMetrics: () => Promise<void>
beforeAll(async () => {
  web = await servePages({ '/page': page('<title>Page</title>') })
  provider = await serveProvider()
  world = await createWorld({ jobs: { push: provider.settings, previews: { allowedHosts: [web.host] } } })
  const port = await freePort()
  stopMetrics = await startMetrics(world.metrics, { db: world.pool, poolSize: 10, port, host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}/metrics`
})
afterAll(async () => {
  await stopMetrics()
  await world.stop()
  await Promise.all([web.stop(), provider.stop()])
})

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}
const scrape = async () => {
  const response = await fetch(url)
  expect(response.headers.get('content-type')).toContain('text/plain')
  return response.text()
}

test('what happens is counted, measured and shown', async () => {
  const [ana] = await world.users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  await ana.messages.send({ channelId, text: `${web.url}/page` })
  await ana.messages.send({ channelId, text: `${web.url}/page again` })
  await refusal(ana.messages.send({ channelId: crypto.randomUUID(), text: 'nowhere' }))
  await idle(world)
  const text = await scrape()
  expect(text).toContain('parley_operation_seconds_count{operation="messages.send",outcome="ok"} 2')
  expect(text).toContain('parley_operation_seconds_count{operation="messages.send",outcome="NOT_FOUND"} 1')
  expect(text).toMatch(/parley_operation_seconds_bucket\{le="0.25",operation="messages.send",outcome="ok"\} \d/)
  expect(text).toContain('parley_pushes_total{outcome="accepted"} 3')
  expect(text).toMatch(/parley_previews_total\{outcome="found"\} [12]/)
  expect(text).toMatch(/parley_jobs_total\{task="push-message",outcome="done"\} \d/)
  expect(text).toMatch(/parley_database_connections\{state="idle"\} \d/)
  expect(text).toContain('parley_database_up 1')
  expect(text).toContain('parley_database_pool_size 10')
  expect(text).toContain('process_cpu_seconds_total')
})

test('jobs that wait, and those given up, are shown with their age', async () => {
  await world.db`select graphile_worker.add_job('somebody-elses', '{}', run_at := now() - interval '5 minutes')`
  const text = await scrape()
  expect(text).toContain('parley_jobs_waiting{task="somebody-elses",state="waiting"} 1')
  expect(text).toMatch(/parley_jobs_oldest_seconds\{task="somebody-elses"\} 30\d/)
})

test('there is nothing else at that port', async () => {
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404)
  expect((await fetch(url, { method: 'POST' })).status).toBe(404)
})
