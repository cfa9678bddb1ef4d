import { createMetrics } from '@parley/server/core/metrics'
import { connectOnce } from '@parley/server/db/client'
import { logError, toApiError } from '@parley/server/http/errors'
import { createFastify } from '@parley/server/http/fastify'
import { expect, inject, test } from 'vitest'

/** What is logged of an error that an operation threw. */
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

test('values that the database refuses are not logged', async () => {
  const db = connectOnce(inject('databaseUrl'))
  const error = await db`select ${'hush'}::text::int`.catch((error: unknown) => error)
  await db.end()
  expect(logged(error)).toMatchObject([
    { level: 'error', fault: { message: 'PostgreSQL error 22P02', code: '22P02' } },
  ])
  expect(JSON.stringify(logged(error))).not.toContain('hush')
})

test('a caller mistake is not logged, and a call that a lost database fails for debugging', () => {
  expect(logged(Object.assign(new Error('too large'), { statusCode: 413 }))).toEqual([])
  const lost = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' })
  expect(logged(lost)).toEqual([
    { level: 'debug', fault: 'connection refused', message: 'refused without the database' },
  ])
})

test('a bug of a route is logged with its request', async () => {
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
  app.get('/bug', () => {
    throw new TypeError('a bug')
  })
  const { statusCode } = await app.inject('/bug')
  expect(statusCode).toBe(500)
  expect(lines).toMatchObject([{ fault: { message: 'a bug' }, message: 'request failed' }])
  await app.close()
})
