import { connect } from 'node:net'
import { contract } from '@parley/contract'
import { logFormat } from '@parley/server/core/log-format'
import { createMetrics } from '@parley/server/core/metrics'
import { connectOnce } from '@parley/server/db/client'
import { NDJSON } from '@parley/server/http/bodies'
import { logError, toApiError } from '@parley/server/http/errors'
import { createFastify } from '@parley/server/http/fastify'
import { streamedBody } from '@parley/server/http/streamed-body'
import { serveTrpc } from '@parley/server/http/trpc'
import { expect, inject, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'

/** The lines that are logged for an error of an operation. */
function logged(error: unknown) {
  const lines: object[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, ...fields, message })
  logError({ error: write('error'), debug: write('debug') }, error, toApiError(error))
  return lines
}

test('a bug is logged with its stack, without its message in it', () => {
  const error = new TypeError('hush is not a function')
  expect(logged(error)).toEqual([
    {
      level: 'error',
      fault: { message: error.message, stack: expect.arrayContaining([expect.any(String)]) },
      message: 'request failed',
    },
  ])
  expect(JSON.stringify(logged(error)).split('hush')).toHaveLength(2)
})

test('a thrown value that is no error is logged by its type', () => {
  expect(logged('hush')).toMatchObject([{ level: 'error', fault: { message: 'string' } }])
})

test('an error that is its own cause is logged to a depth', () => {
  const error: Error & { cause?: unknown } = new Error('a circle')
  error.cause = new AggregateError([error], 'of errors')
  const { serializers } = logFormat('info')
  expect(serializers.err(error)).toMatchObject({
    message: 'a circle',
    cause: { message: 'of errors', errors: [{ message: 'a circle' }] },
  })
})

test('values that the database refuses are not logged', async () => {
  const db = connectOnce(inject('databaseUrl'))
  const error = await db`select ${'hush'}::text::int`.catch((error: unknown) => error)
  await db.end()
  expect(logged(error)).toMatchObject([
    { level: 'error', fault: { message: 'PostgreSQL error 22P02', code: '22P02' } },
  ])
  expect(JSON.stringify(logged(error))).not.toContain('hush')
})

test('mistakes of callers are not logged, and failures in an outage at debug only', () => {
  expect(logged(Object.assign(new Error('too large'), { statusCode: 413 }))).toEqual([])
  const lost = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
  expect(logged(lost)).toEqual([
    { level: 'debug', fault: 'connection refused', message: 'refused without the database' },
  ])
})

/** A server without routes, and its log lines about errors. */
function serverWithLines() {
  const lines: object[] = []
  const error = (fields: object, message: string) => void lines.push({ ...fields, message })
  const app = createFastify({
    allowedOrigins: [],
    trustProxy: false,
    logLevel: 'silent',
    logSample: 1,
    nodeId: 'node',
    isStopping: () => false,
    metrics: createMetrics(),
  })
  app.addHook('onRequest', async ({ log }) => void Object.assign(log, { error }))
  onTestFinished(() => app.close())
  return { app, lines }
}

const bug = () => {
  throw new TypeError('a bug')
}
const lineOfBug = { fault: { message: 'a bug' }, message: 'request failed' }

test('a bug of a route is logged with its request', async () => {
  const { app, lines } = serverWithLines()
  app.get('/bug', bug)
  const { statusCode } = await app.inject('/bug')
  expect(statusCode).toBe(500)
  expect(lines).toMatchObject([lineOfBug])
})

test('a bug of a tRPC call is logged with its request', async () => {
  const { app, lines } = serverWithLines()
  const get = { op: contract.channels.get, call: async () => bug() }
  // No sockets are opened.
  app.decorate('websocketServer', {} as never)
  serveTrpc(app, { channels: { get } } as never, { timings: {} } as never)
  const { statusCode } = await app.inject('/trpc/channels.get')
  expect(statusCode).toBe(500)
  expect(lines).toMatchObject([lineOfBug])
})

test('a client that leaves amid its streamed body is no bug', async () => {
  const { app, lines } = serverWithLines()
  const outcomes: unknown[] = []
  app.post('/lines', { config: { streams: NDJSON } }, async (request, reply) => {
    try {
      for await (const _ of streamedBody(request, reply)) outcomes.push('part')
    } catch (error) {
      outcomes.push(toApiError(error).code)
      throw error
    }
  })
  const { port } = new URL(await app.listen())
  const client = connect(Number(port))
  client.write(`POST /lines HTTP/1.1\r\nContent-Type: ${NDJSON}\r\nContent-Length: 9\r\n\r\n{}`)
  await until(() => outcomes.length === 1)
  client.destroy()
  await until(() => outcomes.length === 2)
  expect(outcomes).toEqual(['part', 'VALIDATION_ERROR'])
  expect(lines).toEqual([])
})

/** The error in a log line of a job or of the realtime part. */
function lineOf(error: unknown) {
  const err = logFormat('info').serializers.err(error)
  return { err, text: JSON.stringify(err) }
}

test('no line of the log has values of the database: not of jobs, nor of realtime', async () => {
  const db = connectOnce(inject('databaseUrl'))
  const failed = (query: PromiseLike<unknown>) =>
    Promise.resolve(query).catch((error: unknown) => error)
  await db`create temporary table once (key text primary key)`
  const twice = await failed(db`insert into once select 'hush' from generate_series(1, 2)`)
  const invalid = await failed(db`select ${'hush'}::text::int`)
  await db.end()
  // The driver of the queue throws such an error.
  const ofQueue = Object.assign(new Error('duplicate key value violates unique constraint "one"'), {
    ...{ code: '23505', severity: 'ERROR', detail: 'Key (id)=(hush) already exists.' },
    ...{ table: 'jobs', constraint: 'one', where: 'hush' },
  })
  const [first, second, third] = [twice, invalid, ofQueue].map(lineOf)
  expect(first?.err).toMatchObject({ code: '23505', table: 'once', constraint: 'once_pkey' })
  expect(second?.err).toMatchObject({ code: '22P02', message: 'PostgreSQL error 22P02' })
  expect(third?.err).toMatchObject({ code: '23505', table: 'jobs', constraint: 'one' })
  const wrapped = new Error('the pass failed', { cause: twice })
  for (const error of [twice, invalid, ofQueue, wrapped, new AggregateError([invalid], '')])
    expect(lineOf(error).text).not.toContain('hush')
  expect(lineOf(wrapped).err).toMatchObject({
    ...{ type: 'Error', message: 'the pass failed', cause: { code: '23505' } },
    stack: expect.stringMatching(/^Error: the pass failed\n\s+at /),
  })
})
