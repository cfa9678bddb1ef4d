import { createReadStream } from 'node:fs'
import type { RequestListener } from 'node:http'
import { ChatError } from '@parley/client'
import { createChatServer, type ImportSource } from '@parley/client/server'
import { expect, onTestFinished, test } from 'vitest'
import { bodyOf, serveLocally } from '../support/local-server.ts'

const ana = { record: 'user', id: 'ana' } as const

/** How an import fails at this server. `stop` aborts it as the answer begins. */
async function failureAt(answer: RequestListener, source: ImportSource, stop?: AbortController) {
  const server = await serveLocally(answer)
  onTestFinished(async () => void (await server.stop()))
  const fetchAndStop: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    stop?.abort()
    return response
  }
  const options = { url: server.url, apiKey: 'pk_test', fetch: fetchAndStop }
  const running = createChatServer(options).imports.run(source, stop && { signal: stop.signal })
  const error = await running.then(() => undefined, asError)
  expect(error).toBeInstanceOf(ChatError)
  return error
}

const asError = (error: unknown) => error

const never: RequestListener = () => {}

test('an import whose answer is cut off fails with a ChatError of the network', async () => {
  const cutOff: RequestListener = async (request, response) => {
    await bodyOf(request)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(' ', () => response.destroy())
  }
  expect(await failureAt(cutOff, [ana])).toMatchObject({
    code: 'NETWORK_ERROR',
    retryable: true,
    message: expect.stringContaining('cut off'),
  })
})

test('an import that is aborted amid its answer fails as aborted', async () => {
  const begin: RequestListener = async (request, response) => {
    await bodyOf(request)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(' ')
  }
  const error = await failureAt(begin, [ana], new AbortController())
  expect(error).toMatchObject({ code: 'ABORTED', status: 0 })
})

test('an import that is answered by a page is reported as a doubtful url', async () => {
  const page: RequestListener = async (request, response) => {
    await bodyOf(request)
    response.end('<html></html>')
  }
  expect(await failureAt(page, [ana])).toMatchObject({
    code: 'NETWORK_ERROR',
    message: expect.stringContaining('did not answer in JSON; is the url right?'),
  })
})

test('an import whose source fails says so, with its error, and blames no network', async () => {
  const broken = async function* () {
    yield ana
    throw new Error('the other database is away')
  }
  const circular = { ...ana, custom: {} }
  circular.custom = { circular }
  const sources: [() => ImportSource, string][] = [
    [broken, 'the other database is away'],
    [() => createReadStream('/nowhere/parley.jsonl'), 'ENOENT'],
    [() => [circular], 'circular'],
  ]
  for (const [source, reason] of sources) {
    expect(await failureAt(never, source())).toMatchObject({
      code: 'ABORTED',
      retryable: false,
      message: expect.stringMatching(`^the records could not be read: .*${reason}`),
      cause: { message: expect.stringContaining(reason) },
    })
  }
})

test('an import that is refused while its records are being sent says why', async () => {
  const refuse: RequestListener = (_, response) => {
    const error = { code: 'UNAUTHORIZED', message: 'Unknown API key' }
    response.writeHead(401, { connection: 'close' })
    response.end(JSON.stringify({ error }))
  }
  const endless = function* () {
    for (;;) yield ana
  }
  expect(await failureAt(refuse, endless())).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
})
