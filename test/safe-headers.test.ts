import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpointPath } from '@parley/contract'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { exchange, post } from './support/raw.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

const headersOf = async (path: string, request: Parameters<typeof post>[2]) =>
  (await post(world().url, path, request)).headers

test('answers that contain a token or a key are stored nowhere', async () => {
  const { apiKey, url } = world()
  const json = { 'Content-Type': 'application/json', 'X-API-Key': apiKey }
  const body = JSON.stringify({ userId: 'ana' })
  for (const path of ['/tokens', '/trpc/tokens.create']) {
    const answer = await post(url, path, { headers: json, body })
    expect(answer.body).toContain('"wsToken"')
    expect(answer.headers['cache-control']).toBe('no-store')
  }
  const { token } = await world().user('ana')
  const headers = { Authorization: `Bearer ${token}` }
  const own = await headersOf('/api/channels', { method: 'GET', headers })
  expect(own['cache-control']).toBe('no-store')
})

test('every answer forbids browsers to guess its type, errors of Node.js and ws too', async () => {
  const get = { method: 'GET' }
  const upgrade = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
  const handshake = `GET ${endpointPath} HTTP/1.1\r\n${upgrade}\r\n`
  const answers = [
    await headersOf('/health', get),
    await headersOf('/openapi.json', get),
    await headersOf('/nowhere', get),
    await headersOf('/%', get),
    await headersOf('/tokens', { body: '{' }),
    ...(await exchange(world().url, 'nonsense\r\n\r\n')).map(({ headers }) => headers),
    ...(await exchange(world().url, handshake)).map(({ headers }) => headers),
  ]
  expect(answers.map((headers) => headers['x-content-type-options'])).toEqual(
    Array(7).fill('nosniff'),
  )
})

test('browsers get the icon of the pages on every server', async () => {
  const answer = await fetch(`${world().url}/favicon.ico`)
  expect(answer.headers.get('content-type')).toBe('image/svg+xml')
  expect(answer.headers.get('cache-control')).toBe('public, max-age=86400')
  const icon = await answer.text()
  for (const page of ['playground', 'console', 'docs']) {
    const html = readFileSync(join(root, `client-sdk/${page}/index.html`), 'utf8')
    const [, inPage = ''] = /href="data:image\/svg\+xml,([^"]+)"/.exec(html) ?? []
    expect(decodeURIComponent(inPage)).toBe(icon)
  }
})
