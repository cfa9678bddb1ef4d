import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { startTracing } from '@parley/server/core/opentelemetry'
import { inSpan } from '@parley/server/core/spans'
import { afterAll, expect, inject, onTestFinished, test, vi } from 'vitest'
import { cloneDatabase } from '../support/clone-database.ts'
import { createDataFolder } from '../support/folders.ts'
import { serveLocally } from '../support/local-server.ts'
import { serveProvider } from '../support/provider.ts'
import { exchange } from '../support/raw.ts'
import { quiet } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'
import { production, start, useChildren } from '../support/start.ts'
import { type Span, serveReceiver } from '../support/trace-receiver.ts'
import { until } from '../support/until.ts'
import { createValidatedApi } from '../support/validated.ts'

const { adopt } = useChildren()
const folder = createDataFolder('otel')
afterAll(() => rmSync(folder, { recursive: true }))

/** A server in a process of its own, with a channel of two users of whom one has a phone. */
async function startWith(variables: Record<string, string>) {
  const [database, provider] = [await cloneDatabase(), await serveProvider()]
  const server = start(
    {
      ...production,
      DATABASE_URL: database.url,
      PUSH_SECRET_KEY: provider.settings.secretKey,
      PUSH_API_URL: provider.settings.apiUrl,
      USER_ADMIN_ACCESS: 'bearer',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      ...variables,
    },
    folder,
  )
  adopt(server.child)
  const url = (await server.address()).replace('0.0.0.0', '127.0.0.1')
  const operator = createValidatedApi({ url, adminKey: production.ADMIN_API_KEY })
  const { apiKey } = await operator.apps.create({ name: 'Traced' })
  const backend = createValidatedApi({ url, apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana' })
  const ben = await backend.tokens.create({ userId: 'ben' })
  const device = { platform: 'ios', provider: 'apns', token: 'phone' } as const
  await createValidatedApi({ url, token: ben.token }).devices.create(device)
  const ana = createValidatedApi({ url, token })
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben'],
  })
  const send = (headers: Record<string, string> = {}, body = '{"text":"Hello"}') =>
    fetch(`${url}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body,
    })
  const stop = async () => {
    server.kill('SIGTERM')
    const code = await server.code
    await provider.stop()
    await database.drop()
    return code
  }
  return { ...server, url, token, backend, channelId, send, provider, stop }
}

const TRACE = 'aaaabbbbccccddddaaaabbbbccccdddd'
const OTHER = 'ddddccccbbbbaaaaddddccccbbbbaaaa'
const from = (flags: string, trace = TRACE) => ({
  traceparent: `00-${trace}-1111222233334444-${flags}`,
})

/** Each span is within its parent; a job begins after the call that staged it has begun. */
function expectNested(parent: Span | undefined, child: Span | undefined, { isLater = false } = {}) {
  const [from, until] = [parent?.startTimeUnixNano, parent?.endTimeUnixNano].map(BigIntOf)
  const [begins, ends] = [child?.startTimeUnixNano, child?.endTimeUnixNano].map(BigIntOf)
  if (!from || !until || !begins || !ends) throw new Error('a span without times')
  expect(begins).toBeGreaterThanOrEqual(from)
  expect(ends).toBeGreaterThanOrEqual(begins)
  if (!isLater) expect(ends).toBeLessThanOrEqual(until)
}
const BigIntOf = (text: string | undefined) => BigInt(text ?? 0)

// Processes that share a port each send their own spans.
test.for(['1', '2'])(
  'the spans of a send lead from its request to its push: WORKERS=%s',
  async (WORKERS) => {
    const receiver = await serveReceiver()
    const before = BigInt(Date.now()) * 1_000_000n
    const server = await startWith({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, WORKERS })
    // Proxies ask for it every second.
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
    // Its caller has decided that this one is not recorded.
    expect((await server.send(from('00'))).status).toBe(201)
    expect((await server.send(from('01'))).status).toBe(201)
    const named = (name: string) =>
      receiver.spans.filter((span) => span.traceId === TRACE && span.name === name)
    expect((await server.send(from('01', OTHER), '{"text":""}')).status).toBe(400)
    await until(() => named('push POST').length > 0 && named('job push-message').length > 0)
    const [request, ...others] = named('POST /api/channels/:channelId/messages')
    const [operation] = named('messages.send')
    const [job] = named('job push-message')
    const [push] = named('push POST')
    expect(others).toEqual([])
    expect(request?.parentSpanId).toBe('1111222233334444')
    expect(operation?.parentSpanId).toBe(request?.spanId)
    expect(job?.parentSpanId).toBe(operation?.spanId)
    expect(push?.parentSpanId).toBe(job?.spanId)
    expect(BigIntOf(request?.startTimeUnixNano)).toBeGreaterThan(before)
    expectNested(request, operation)
    expectNested(operation, job, { isLater: true })
    expectNested(job, push)
    const refused = () => receiver.spans.filter(({ traceId }) => traceId === OTHER)
    await until(() => refused().some(({ name }) => name === 'messages.send'))
    const failed = refused().find(({ name }) => name === 'messages.send')
    expect([failed?.status.code, operation?.status.code]).toEqual([2, 0])
    const statements = (parent: Span | undefined) =>
      named('SQL')
        .filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
        .flatMap(({ attributes }) => attributes)
        .flatMap(({ key, value }) => (key === 'db.query.text' ? [value.stringValue] : []))
        .join()
    expect(statements(operation)).toMatch(/insert into messages .*\$1/)
    expect(statements(job)).toMatch(/from messages/)
    // No span contains texts, user ids, devices or tokens.
    await until(() => receiver.spans.some(({ name }) => name === 'push PUT'))
    expect(JSON.stringify(receiver.spans)).not.toMatch(/Hello|\bana\b|\bben\b|\bphone\b|eyJ/)
    const pushed = server.provider.calls.map(({ traceparent }) => traceparent)
    expect(pushed).toContain(`00-${TRACE}-${push?.spanId}-01`)
    expect(await server.stop()).toBe(0)
    expect(receiver.spans.filter(({ name }) => name.includes('/health'))).toEqual([])
    expect(receiver.spans.filter((span) => span.name === 'SQL' && !span.parentSpanId)).toEqual([])
    // A refusal is no fault of the server.
    expect(refused().find(({ name }) => name.startsWith('POST'))?.status.code).toBe(0)
    await receiver.stop()
  },
)

test('requests that share a connection have spans of their own', async () => {
  const receiver = await serveReceiver()
  const server = await startWith({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const get = (trace: string) =>
    `GET /api/channels/${server.channelId}/messages HTTP/1.1\r\nHost: parley\r\n` +
    `Authorization: Bearer ${server.token}\r\ntraceparent: 00-${trace}-1111222233334444-01\r\n`
  await exchange(server.url, `${get(TRACE)}\r\n${get(OTHER)}Connection: close\r\n\r\n`)
  const named = (trace: string, name: string) =>
    receiver.spans.filter((span) => span.traceId === trace && span.name === name)
  for (const trace of [TRACE, OTHER]) {
    const requests = () => named(trace, 'GET /api/channels/:channelId/messages')
    await until(() => requests().length > 0)
    const [list] = named(trace, 'messages.list')
    expect(list?.parentSpanId).toBe(requests()[0]?.spanId)
  }
  expect(await server.stop()).toBe(0)
  await receiver.stop()
})

test('each try of a webhook is a span with its status, and its receiver goes on', async () => {
  const [receiver, asked] = [await serveReceiver(), [] as (string | undefined)[]]
  const hook = await serveLocally((request, response) => {
    asked.push(String(request.headers.traceparent))
    response.writeHead(asked.length === 1 ? 500 : 204).end()
  })
  const server = await startWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    WEBHOOK_ALLOW_HOSTS: new URL(hook.url).host,
  })
  const { backend } = server
  await backend.webhooks.create({ url: hook.url, events: ['message.*'] })
  expect((await server.send()).status).toBe(201)
  const tries = () => receiver.spans.filter(({ name }) => name === 'webhook POST')
  await until(() => tries().length >= 2)
  const [failed, done] = tries()
  const shown = (span: Span | undefined) =>
    Object.fromEntries(
      (span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
    )
  expect(shown(failed)).toEqual({ 'http.response.status_code': 500, 'error.type': '500' })
  expect(shown(done)).toEqual({ 'http.response.status_code': 204 })
  expect(asked).toContain(`00-${done?.traceId}-${done?.spanId}-01`)
  expect(await server.stop()).toBe(0)
  await Promise.all([receiver.stop(), hook.stop()])
})

test('a receiver that never answers delays no call', async () => {
  const receiver = await serveReceiver({ isSilent: true })
  const server = await startWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_EXPORT_TIMEOUT: '600000',
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
  })
  await until(() => receiver.requests() > 0)
  for (let n = 0; n < 5; n++) expect((await server.send()).status).toBe(201)
  expect(await server.stop()).toBe(0)
  await receiver.stop()
})

test('the end of tracing waits two seconds at most for a receiver that never answers', async () => {
  const receiver = await serveReceiver({ isSilent: true })
  onTestFinished(async () => void (await receiver.stop()))
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const [name, value] of Object.entries({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_EXPORT_TIMEOUT: '600000',
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
  }))
    vi.stubEnv(name, value)
  const clock = stoppedClock()
  const end = startTracing({ version: '1', warn: () => {} })
  await inSpan(
    () => ({ name: 'work', kind: 'internal' }),
    async () => {},
  )
  let hasEnded = false
  const ended = end().then(() => {
    hasEnded = true
  })
  while (receiver.requests() === 0) await quiet()
  await clock.forward(1_999)
  expect(hasEnded).toBe(false)
  await clock.forward(1)
  await ended
})

test('a receiver that takes no spans is reported once, and everything else goes on', async () => {
  const receiver = await serveReceiver({ status: 400 })
  const server = await startWith({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  await until(async () => {
    expect((await server.send()).status).toBe(201)
    return receiver.requests() > 3
  })
  expect(await server.stop()).toBe(0)
  expect(server.output().match(/spans are lost/g)).toHaveLength(1)
  await receiver.stop()
})

test('nothing of OpenTelemetry is loaded unless it is asked for', () => {
  const folder = inject('programs')
  const programs = readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => ({ name, text: readFileSync(`${folder}/${name}`, 'utf8') }))
  const tracing = programs.filter(({ text }) => text.includes('@opentelemetry/sdk-trace-base'))
  expect(tracing).not.toEqual([])
  const importers = programs.filter(({ text }) =>
    tracing.some(({ name }) => new RegExp(`(from|import) ?"\\./${name}"`).test(text)),
  )
  expect(importers.map(({ name }) => name)).toEqual([])
  const asks = (text: string) => tracing.some(({ name }) => text.includes(`import("./${name}")`))
  expect(programs.filter(({ text }) => asks(text))).not.toEqual([])
})
