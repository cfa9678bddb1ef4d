import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { idle } from './support/idle.ts'
import { freePort } from './support/ports.ts'
import { serveProvider } from './support/provider.ts'
import { answering, serveReceiver } from './support/receiver.ts'
import { sample } from './support/scrape.ts'
import { RawSocket } from './support/socket.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

type Line = Record<string, unknown> & { time: string; msg: string }

const directory = createDataFolder('why')
const world = useWorld()
let provider: Awaited<ReturnType<typeof serveProvider>>
let receiver: Awaited<ReturnType<typeof serveReceiver>>
let node: ReturnType<typeof start>
let url = ''
let metricsUrl = ''
let operator: ReturnType<typeof createApi>
let app: { id: string; apiKey: string }

beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  provider = await serveProvider()
  receiver = await serveReceiver()
  const { apiUrl, secretKey } = provider.settings
  const variables = {
    ...production,
    DATABASE_URL: world().databaseUrl,
    METRICS_PORT: String(port),
    // Requests that succeed leave no line: the answers may not depend on the share that has one.
    LOG_SAMPLE: '0',
    PUSH_API_URL: apiUrl,
    WEBHOOK_ALLOW_HOSTS: new URL(receiver.url).host,
    PUSH_SECRET_KEY: secretKey,
  }
  node = start(variables, directory)
  url = await node.address()
  operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  app = await operator.apps.create({ name: 'Asked about' })
})
afterAll(async () => {
  node?.kill('SIGKILL')
  await Promise.all([provider?.stop(), receiver?.stop()])
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

/** A question about a message: its sender, recipient, channel and time, and the metrics before. */
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
    ({ operation, user }) => /^messages\.send(Batch)?$/.test(String(operation)) && user === from,
  )
  const refused = sends.findLast(({ code }) => code !== undefined)
  if (messages.length === 0) return `the send was refused: ${refused?.code}`
  if (messages[0]?.deletedAt) return 'it was deleted'
  const removal = await removalFrom({ channelId, of: to, before: at })
  if (removal) return `${to} was removed by ${removal.actor.userId}`
  const metrics = await readMetrics()
  const growth = (series: string) => sample(metrics, series) - sample(earlier, series)
  if (sample(metrics, 'parley_listener_up') !== 1)
    return 'the node received nothing from the others'
  if (growth('parley_gaps_filled_total{reason="missed"}') > 20) return 'it came late'
  const messageId = messages[0]?.id
  const push = lines().find(
    ({ msg, messages: ids }) =>
      ['push refused', 'job put off', 'job given up: too old'].includes(msg) &&
      Array.isArray(ids) &&
      ids.includes(messageId),
  )
  if (push) return `${push.msg}: ${push.reason ?? 'see err'}`
  const ended = before.findLast(({ msg, user }) => msg === 'socket closed' && user === to)
  if (ended) return `the socket of ${to} was closed with ${ended.code}`
  const problem = await webhookProblem()
  return problem ?? 'it was delivered'
}

/** The audit entry of a user's removal from a channel, unless they were added again by then. */
async function removalFrom(query: { channelId: string; of: string; before: string }) {
  const { entries } = await operator.audit.listOfApp({
    ...{ appId: app.id, targetId: query.of, createdBefore: query.before },
  })
  const last = entries.find(
    ({ operation, target }) =>
      /^members\.(add|remove)$/.test(operation) && target.channelId === query.channelId,
  )
  return last?.operation === 'members.remove' ? last : undefined
}

/** The last answer of a webhook's receiver, unless all is delivered. */
async function webhookProblem() {
  const { webhooks } = await operator.inspect.webhooks({ appId: app.id })
  for (const { id: webhookId } of webhooks) {
    const { deliveries } = await operator.inspect.deliveries({ appId: app.id, webhookId })
    const late = deliveries.find(({ status }) => status !== 'delivered')
    if (late) return `a webhook answered ${late.responseStatus}`
  }
  return undefined
}

/** A time after all that has happened, and before all that is sent from now on. */
async function now() {
  const at = new Date().toISOString()
  await until(() => new Date().toISOString() > at)
  return at
}

test('console, log and metrics show why a message did not arrive', async () => {
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
  const question = { from: 'dora', to: 'emil', channelId, earlier }
  const socket = await RawSocket.connect({ url }, { minted: emil })
  onTestFinished(() => socket.socket.terminate())
  const send = (token: string) => as(token).messages.send({ channelId, text: 'lunch?' })

  await expect(send(gus.token)).rejects.toMatchObject({ status: 403 })
  await line(({ user, code }) => user === 'gus' && code === 'FORBIDDEN')
  const refused = { ...question, from: 'gus', at: await now() }
  expect(await whyNotDelivered(refused)).toBe('the send was refused: FORBIDDEN')
  await send(dora.token)
  const delivered = { ...question, at: await now() }
  expect(await whyNotDelivered(delivered)).toBe('it was delivered')

  // Their token is revoked: the server ends the socket, and the client cannot come back.
  await backend.tokens.revoke({ userId: 'emil' })
  expect((await socket.closed).code).toBe(3503)
  await line(({ msg, user }) => msg === 'socket closed' && user === 'emil')
  await send(dora.token)
  const away = { ...question, at: await now() }
  expect(await whyNotDelivered(away)).toBe('the socket of emil was closed with 3503')
  expect(sample(await readMetrics(), 'parley_socket_closes_total{code="3503"}')).toBeGreaterThan(0)

  // A message from now on would be pushed to them, as they are away. Earlier ones are not pushed.
  await idle(world())
  const phone = as((await mint('emil')).token)
  await phone.devices.create({ platform: 'ios', provider: 'apns', token: 'phone' })
  provider.behave(provider.answer(422))
  onTestFinished(() => provider.behave())
  await send(dora.token)
  await line(({ msg }) => msg === 'push refused')
  const unpushed = { ...question, at: await now() }
  expect(await whyNotDelivered(unpushed)).toMatch(/^push refused: .*422/)
  const { jobs } = await operator.jobs.list({ appId: app.id })
  const refusedPush = { task: 'push-message', reason: expect.stringContaining('422') }
  expect(jobs).toContainEqual(expect.objectContaining(refusedPush))
  // Later events do not change the answers about earlier messages.
  expect(await whyNotDelivered(delivered)).toBe('it was delivered')
  expect(await whyNotDelivered(away)).toBe('the socket of emil was closed with 3503')
})

test('the log says that messages of a batch were refused', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const hal = createApi({ url, token: (await backend.tokens.create({ userId: 'hal' })).token })
  const { id: channelId } = await hal.channels.create({ type: 'group', name: 'Frozen' })
  await backend.channels.update({ channelId, frozen: true })
  const earlier = await readMetrics()
  const messages = ['one', 'two'].map((text) => ({ text, clientId: text }))
  const { results } = await hal.messages.sendBatch({ channelId, messages })
  expect(results.map(({ error }) => error?.code)).toEqual(['FORBIDDEN', 'FORBIDDEN'])
  const { refused } = await line(({ operation }) => operation === 'messages.sendBatch')
  expect(refused).toBe(2)
  const question = { from: 'hal', to: 'ida', channelId, earlier, at: new Date().toISOString() }
  expect(await whyNotDelivered(question)).toBe('the send was refused: FORBIDDEN')
})

test('the console shows who had removed the recipient, even after they are back', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const mint = async (userId: string) => (await backend.tokens.create({ userId })).token
  const [kim] = [createApi({ url, token: await mint('kim') }), await mint('lea')]
  const group = { type: 'group' as const, name: 'Rota', memberIds: ['lea'] }
  const { id: channelId } = await kim.channels.create(group)
  await kim.members.remove({ channelId, userId: 'lea' })
  const earlier = await readMetrics()
  await kim.messages.send({ channelId, text: 'who is in on Monday?' })
  const question = { from: 'kim', to: 'lea', channelId, earlier, at: await now() }
  expect(await whyNotDelivered(question)).toBe('lea was removed by kim')
  await kim.members.add({ channelId, userIds: ['lea'] })
  await kim.messages.send({ channelId, text: 'and on Tuesday?' })
  expect(await whyNotDelivered({ ...question, at: await now() })).toBe('it was delivered')
  // Adding them again does not change the answer about the earlier message.
  expect(await whyNotDelivered(question)).toBe('lea was removed by kim')
})

test('the console shows that a backend did not take a message', async () => {
  const backend = createApi({ url, apiKey: app.apiKey })
  const hana = createApi({ url, token: (await backend.tokens.create({ userId: 'hana' })).token })
  const { id: channelId } = await hana.channels.create({ type: 'group', name: 'Orders' })
  receiver.answerWith(answering(500))
  const hook = { url: `${receiver.url}/hook`, events: ['message.new' as const] }
  const { id: webhookId } = await backend.webhooks.create(hook)
  onTestFinished(async () => void (await backend.webhooks.delete({ webhookId })))
  const earlier = await readMetrics()
  await hana.messages.send({ channelId, text: 'two of them' })
  await line(({ msg }) => msg === 'webhook failing')
  const question = { from: 'hana', to: 'ida', channelId, earlier, at: new Date().toISOString() }
  await until(async () => (await whyNotDelivered(question)) === 'a webhook answered 500')
  // A retry may have followed by now.
  expect(receiver.at('/hook')[0]).toMatchObject({ data: { message: { text: 'two of them' } } })
})
