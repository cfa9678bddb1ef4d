import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { freePort } from './support/ports.ts'
import { serveProvider } from './support/provider.ts'
import { sample } from './support/scrape.ts'
import { RawSocket } from './support/socket.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

type Line = Record<string, unknown> & { time: string; msg: string }

const directory = createDataFolder('why')
const world = useWorld()
let provider: Awaited<ReturnType<typeof serveProvider>>
let node: ReturnType<typeof start>
let url = ''
let metricsUrl = ''
let operator: ReturnType<typeof createApi>
let app: { id: string; apiKey: string }

beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  provider = await serveProvider()
  const { apiUrl, secretKey } = provider.settings
  const variables = {
    ...production,
    DATABASE_URL: world().databaseUrl,
    METRICS_PORT: String(port),
    LOG_SAMPLE: '1',
    PUSH_API_URL: apiUrl,
    PUSH_SECRET_KEY: secretKey,
  }
  node = start(variables, directory)
  url = await node.address()
  operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  app = await operator.apps.create({ name: 'Asked about' })
})
afterAll(async () => {
  node?.kill('SIGKILL')
  await provider?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** All that the server has written: in production each line is JSON. */
const lines = () =>
  node
    .output()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
const line = (find: (line: Line) => boolean) => until(() => lines().find(find))
const readMetrics = async () => (await fetch(metricsUrl)).text()

/** Who sent what when, as somebody asks it, and what the metrics were before. */
type Question = { from: string; to: string; channelId: string; at: string; earlier: string }

/**
 * The questions of docs/operations.md, in their order, about a message from one user to another.
 * It reads what an operator has: the console's operations, the log and the metrics.
 */
async function whyNotDelivered({ from, to, channelId, at, earlier }: Question) {
  const before = lines().filter(({ time }) => time <= at)
  const { messages } = await operator.inspect.messages({
    appId: app.id,
    channelId,
    userId: from,
    sentBefore: at,
    limit: 1,
  })
  const sends = before.filter(
    ({ operation, user }) => operation === 'messages.send' && user === from,
  )
  const refused = sends.findLast(({ status }) => Number(status) >= 400)
  if (messages.length === 0) return `the send was refused: ${refused?.code}`
  if (messages[0]?.deletedAt) return 'it was deleted'
  const metrics = await readMetrics()
  const growth = (series: string) => sample(metrics, series) - sample(earlier, series)
  if (sample(metrics, 'parley_listener_up') !== 1) return 'the node did not hear the others'
  if (growth('parley_gaps_filled_total{reason="missed"}') > 20) return 'it came late'
  const trace = String(sends.at(-1)?.trace)
  const push = lines().find(
    ({ msg, traces }) =>
      ['push refused', 'job put off', 'job given up: too old'].includes(msg) &&
      Array.isArray(traces) &&
      traces.includes(trace),
  )
  if (push) return `${push.msg}: ${push.reason ?? 'see err'}`
  const ended = before.findLast(({ msg, user }) => msg === 'socket closed' && user === to)
  if (ended) return `the socket of ${to} was closed with ${ended.code}`
  return 'it was delivered'
}

test('console, log and metrics tell why a message did not arrive', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const mint = (userId: string) => backend.tokens.create({ userId })
  const [dora, emil, gus] = [await mint('dora'), await mint('emil'), await mint('gus')]
  const as = (token: string) => createApi({ url, token })
  const { id: channelId } = await as(dora.token).channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['emil'],
  })
  await until(async () => sample(await readMetrics(), 'parley_listener_up') === 1)
  const earlier = await readMetrics()
  const question = { from: 'dora', to: 'emil', channelId, earlier, at: '2999-01-01T00:00:00.000Z' }
  const socket = await RawSocket.connect({ url }, { minted: emil })
  onTestFinished(() => socket.socket.terminate())
  const sent = (count: number) =>
    until(() => lines().filter(({ operation }) => operation === 'messages.send').length >= count)
  const send = (token: string) => as(token).messages.send({ channelId, text: 'lunch?' })

  await expect(send(gus.token)).rejects.toMatchObject({ status: 403 })
  await sent(1)
  expect(await whyNotDelivered({ ...question, from: 'gus' })).toBe(
    'the send was refused: FORBIDDEN',
  )
  await send(dora.token)
  await sent(2)
  expect(await whyNotDelivered(question)).toBe('it was delivered')

  // Their token is revoked: the server ends the socket, and the client cannot come back.
  await backend.tokens.revoke({ userId: 'emil' })
  expect((await socket.closed).code).toBe(3503)
  await line(({ msg, user }) => msg === 'socket closed' && user === 'emil')
  expect(await whyNotDelivered(question)).toBe('the socket of emil was closed with 3503')
  expect(sample(await readMetrics(), 'parley_socket_closes_total{code="3503"}')).toBeGreaterThan(0)

  // Away from now on, they would have been pushed it.
  const phone = as((await mint('emil')).token)
  await phone.devices.create({ platform: 'ios', provider: 'apns', token: 'phone' })
  provider.behave(provider.answer(422))
  await send(dora.token)
  await line(({ msg }) => msg === 'push refused')
  expect(await whyNotDelivered(question)).toMatch(/^push refused: .*422/)
})
