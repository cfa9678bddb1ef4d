import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { createFetch } from '@parley/server/jobs/previews/fetch'
import { expect, onTestFinished, test } from 'vitest'
import { serveLocally } from './support/local-server.ts'

test('a fetch that this process aborts fails with its reason, not as a missing page', async () => {
  let onAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve
  })
  const web = await serveLocally(() => onAsked())
  onTestFinished(() => web.stop().then(() => {}))
  const end = new AbortController()
  const fetch = createFetch({ allowedHosts: [web.host] })('app')
  const fetched = fetch(web.url, { type: 'html', signal: end.signal })
  await asked
  end.abort(new Error('the process ends'))
  await expect(fetched).rejects.toThrow('the process ends')
})

test('a receiver that answers before it reads is not sent the rest', async () => {
  const body = 'x'.repeat(32 * 1024 * 1024)
  const receiver = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void receiver.close())
  await once(receiver, 'listening')
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}` // it listens on a port
  const request = createGuardedRequest({ allowedHosts: [host] })
  const signal = AbortSignal.timeout(60_000)
  const answered = request(new URL(`http://${host}`), { method: 'POST', headers: {}, body, signal })
  const [socket] = (await once(receiver, 'connection')) as [Socket] // as it is documented
  socket.write('HTTP/1.1 204 No Content\r\n\r\n')
  await once((await answered).resume(), 'close')
  let bytes = 0
  socket.on('error', () => {}) // it is cut
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length
  })
  await once(socket, 'close')
  expect(bytes).toBeLessThan(body.length)
})
