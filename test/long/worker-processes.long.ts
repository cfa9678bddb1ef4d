import type { ChildProcess } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { createApi } from '@parley/client/api'
import { connectOnce } from '@parley/server/db/client'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { freePort } from '../support/ports.ts'
import { sample } from '../support/scrape.ts'
import { production, useChildren } from '../support/start.ts'
import { RawStream } from '../support/stream.ts'
import { patient, until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const directory = createDataFolder('worker-processes')
const world = useWorld()
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const SENDERS = 6

/** The ids of the processes that a process has started. */
const childrenOf = ({ pid }: ChildProcess) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

/** A server of two worker processes, a channel on it, and callers who send there. */
async function startServer({
  variables = {},
  meanwhile = () => {},
}: {
  variables?: Record<string, string>
  /** Called when the first worker process listens. */
  meanwhile?: (server: ChildProcess) => Promise<void> | void
} = {}) {
  const metricsPort = await freePort()
  const server = children.start(
    {
      ...production,
      DATABASE_URL: world().databaseUrl,
      WORKERS: '2',
      METRICS_PORT: String(metricsPort),
      LOG_SAMPLE: '0',
      RATE_LIMIT_MESSAGES: '0',
      RATE_LIMIT_REQUESTS: '0',
      ...variables,
    },
    directory,
  )
  const url = await server.address()
  await meanwhile(server.child)
  const lines = (pattern: RegExp) => server.output().match(pattern) ?? []
  const listening = (count: number) =>
    until(() => lines(/"Server listening at /g).length >= count, { seconds: 120 })
  await listening(2)
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  const { apiKey } = await operator.apps.create({ name: 'Workers' })
  const minted = await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })
  const { token } = minted
  const ana = createApi({ url, token })
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Load' })
  const send = async (clientId: string) =>
    fetch(`${url}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ text: clientId, clientId }),
    }).then(
      ({ status }) => status,
      (error) => String(error.cause ?? error),
    )
  /** Callers that send until they are stopped. Returns what was answered, by client id. */
  const sendMany = () => {
    const answers = new Map<string, number | string>()
    let isOver = false
    const senders = Array.from({ length: SENDERS }, async (_, sender) => {
      while (!isOver) {
        const clientId = crypto.randomUUID()
        answers.set(clientId, await send(clientId))
        await new Promise((resolve) => setTimeout(resolve, sender))
      }
    })
    const stop = async () => {
      isOver = true
      await Promise.all(senders)
      return answers
    }
    return { answers, stop }
  }
  const stored = async () => {
    const rows = await world().db<{ text: string }[]>`
      select text
      from messages
      where channel_id = ${channelId}`
    return new Set(rows.map(({ text }) => text))
  }
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return { ...server, url, lines, listening, sendMany, stored, metrics, minted, ana, channelId }
}

test('a rolling restart on SIGHUP refuses nothing under load, and SIGTERM ends all', async () => {
  const server = await startServer()
  const { answers, stop } = server.sendMany()
  await until(() => answers.size > 50)
  server.kill('SIGHUP')
  await until(() => server.output().includes('rolling restart finished'), { seconds: 150 })
  await until(() => answers.size > 100)
  await stop()
  expect([...answers.values()].filter((answer) => answer !== 201)).toEqual([])
  expect((await server.stored()).size).toBe(answers.size)
  // Two worker processes, and their successors.
  expect(server.lines(/"Server listening at /g).length).toBe(4)
  console.log(`${answers.size} messages during a rolling restart, none refused`)
  server.kill('SIGTERM')
  expect(await server.code).toBe(0)
  await expect(fetch(`${server.url}/health`)).rejects.toThrow()
  expect(server.output()).not.toContain('starting another')
})

test('a start on a port in use logs the reason once, and is not tried again', async () => {
  const { port } = new URL(world().url)
  const variables = { ...production, DATABASE_URL: world().databaseUrl, WORKERS: '2', PORT: port }
  const server = children.start(variables, directory)
  expect(await server.code).toBe(1)
  expect(server.output().split('EADDRINUSE')).toHaveLength(2)
  expect(server.output()).not.toContain('starting another')
})

test('a worker process that is killed is replaced, and nothing acknowledged is lost', async () => {
  const server = await startServer()
  const { answers, stop } = server.sendMany()
  await until(() => answers.size > 50)
  const [victim] = childrenOf(server.child)
  process.kill(victim ?? 0, 'SIGKILL')
  await server.listening(3)
  const before = answers.size
  await until(() => answers.size > before + 50)
  await stop()
  const stored = await server.stored()
  const acknowledged = [...answers].filter(([, answer]) => answer === 201)
  expect(acknowledged.filter(([clientId]) => !stored.has(clientId))).toEqual([])
  const [ended = ''] = server.lines(/^.*"worker process ended: starting another".*$/m)
  const { livedMs, pauseMs } = JSON.parse(ended)
  // One that lives for long is replaced at once.
  expect(pauseMs).toBe(livedMs < 10_000 ? 250 : 0)
  console.log(`${acknowledged.length} of ${answers.size} messages acknowledged, none lost`)
  // The metrics are those of both processes together, and of the service once.
  const text = await vi.waitFor(async () => {
    const text = await server.metrics()
    expect(sample(text, 'parley_database_pool_size')).toBe(20)
    // A new process receives its own first beat.
    expect(sample(text, 'parley_listener_up')).toBe(1)
    return text
  }, patient)
  expect(text).toMatch(/^parley_build_info\{.*\} 1$/m)
  expect(sample(text, 'parley_database_up')).toBe(1)
  // Each request is answered with what they are then.
  await expect.poll(server.metrics).not.toBe(text)
})

test('a connection handed to a worker process ends when that process is killed', async () => {
  const { url, child } = await startServer()
  const [victim = 0] = childrenOf(child)
  process.kill(victim, 'SIGSTOP')
  let answered = 0
  const call = () =>
    new Promise((resolve, reject) => {
      const request = get(`${url}/health`, { agent: false }, (response) => {
        answered += 1
        resolve(response.resume())
      })
      request.on('error', reject)
    })
  const calls = Array.from({ length: 4 }, call)
  // The other process answers three calls; the stopped process was handed one.
  await until(() => answered === 3)
  process.kill(victim, 'SIGKILL')
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1)
})

test('two worker processes remain if one ends in a start or a rolling restart', async () => {
  // Kills the first process while the second one starts.
  const kill = (pid: number | undefined) => process.kill(pid ?? 0, 'SIGKILL')
  const port = await freePort()
  const server = await startServer({
    variables: { PORT: String(port) },
    meanwhile: async (server) => {
      // The server knows that the first one listens: otherwise its end would end the start.
      await until(() => childrenOf(server).length === 2)
      kill(childrenOf(server)[0])
    },
  })
  await server.listening(3)
  const before = childrenOf(server.child)
  expect(before).toHaveLength(2)
  server.kill('SIGHUP')
  await until(() => childrenOf(server.child).length > 2)
  kill(childrenOf(server.child).find((pid) => !before.includes(pid)))
  await until(() => server.output().includes('rolling restart given up'))
  expect(childrenOf(server.child)).toEqual(before)
  server.kill('SIGHUP')
  await until(() => server.output().includes('rolling restart finished'), { seconds: 150 })
  expect(childrenOf(server.child)).toHaveLength(2)
})

test('commands reach their stream, whichever worker process they come to', async () => {
  const server = await startServer()
  const streams = await Promise.all(
    Array.from({ length: 10 }, () => RawStream.connect(server, { minted: server.minted })),
  )
  onTestFinished(() => {
    for (const stream of streams) stream.terminate()
  })
  expect(new Set(streams.map(({ session }) => session.node)).size).toBe(2)
  const ids = [2, 3, 4, 5]
  for (const stream of streams) {
    for (const id of ids) expect(await stream.post(JSON.stringify({ id, ping: {} }))).toBe(204)
  }
  for (const stream of streams) {
    await stream.reply(5)
    expect(stream.messages.map(({ id }) => id)).toEqual([1, ...ids])
  }
})

test('worker processes share the embedded database, which has connections for all', async () => {
  const server = children.start({ WORKERS: '2', DATABASE_POOL_SIZE: '100' }, directory)
  const apiKey = await server.value('Demo API key')
  const url = await server.url()
  expect((await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })).user.id).toBe('ana')
  const database = connectOnce(await server.value('Database'))
  onTestFinished(() => database.end())
  const [setting] = await database`
    select current_setting('max_connections')::int as connections`
  expect(setting?.connections).toBeGreaterThan(2 * 100)
})
