import { startTextServer } from '@parley/server/http/metrics-server'
import { expect, onTestFinished, test } from 'vitest'
import { exchange } from './support/raw.ts'

test('malformed HTTP at the port of the metrics is refused as at that of the API', async () => {
  const read = async () => ({ text: '', contentType: 'text/plain' })
  const server = await startTextServer({ port: 0, host: '127.0.0.1', read })
  onTestFinished(server.stop)
  const [answer, ...others] = await exchange(`http://127.0.0.1:${server.port}`, 'garbage\r\n\r\n')
  expect(others).toEqual([])
  expect(answer?.status).toBe(400)
  expect(JSON.parse(answer?.body ?? '')).toEqual({
    error: { code: 'VALIDATION_ERROR', message: 'Malformed HTTP' },
  })
  expect(answer?.headers['x-content-type-options']).toBe('nosniff')
})
