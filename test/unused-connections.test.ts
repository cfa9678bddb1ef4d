import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { exchange, expectError } from './support/raw.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** What a connection hears on which no complete request has come in time, after these bytes. */
async function answersAfter(bytes: string) {
  const { server } = world().app
  const accepted = once(server, 'connection') as Promise<[Socket]> // as Node.js documents
  const answers = exchange(world().url, bytes)
  const [socket] = await accepted
  await vi.waitUntil(() => socket.bytesRead === bytes.length, patient)
  const code = 'ERR_HTTP_REQUEST_TIMEOUT'
  server.emit('clientError', Object.assign(new Error(code), { code }), socket)
  return answers
}

test('an unused connection is closed without an answer', async () => {
  expect(await answersAfter('')).toEqual([])
})

test('half of a request that never gets whole is a VALIDATION_ERROR', async () => {
  const [answer] = await answersAfter('GET /health/live HTTP/1.1\r\nHost: x\r\n')
  if (!answer) throw new Error('no answer')
  expectError(answer, 'VALIDATION_ERROR')
})
