import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { endpointPath } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** Headers that Java's client sends with its first requests to a server. */
const offer = {
  Connection: 'Upgrade, HTTP2-Settings',
  Upgrade: 'h2c',
  'HTTP2-Settings': 'AAMAAABkAAQBAAAAAAIAAAAA',
}

/** Calls the server over one connection, one call after the other, each with the offer. */
function offeringClient() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return async (method: string, path: string, headers = {}, body?: object) => {
    const call = request(`${world().url}${path}`, {
      ...{ agent, method },
      headers: { ...offer, ...headers, 'Content-Type': 'application/json' },
    })
    call.end(body && JSON.stringify(body))
    const [answer] = (await once(call, 'response')) as [IncomingMessage] // as documented
    const { reusedSocket } = call
    return { status: answer.statusCode, body: JSON.parse(await text(answer)), reusedSocket }
  }
}

test('clients that offer HTTP/2 by an Upgrade are served as if they did not', async () => {
  const call = offeringClient()
  const key = { 'X-API-Key': world().apiKey }
  const minted = await call('POST', '/tokens', key, { userId: 'offering' })
  expect([minted.status, typeof minted.body.token]).toEqual([200, 'string'])
  const bearer = { Authorization: `Bearer ${minted.body.token}` }
  const channel = { type: 'group', name: 'By Java' }
  const created = await call('POST', '/api/channels', bearer, channel)
  expect(created).toMatchObject({ status: 201, body: channel, reusedSocket: true })
  const socket = await call('GET', endpointPath)
  expect(socket).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } })
  expect(await call('GET', '/health/live')).toMatchObject({ status: 200, reusedSocket: true })
})

test('answers to clients that offer HTTP/2 count against the limits of all answers', async () => {
  const paths: string[] = []
  const note = (message: IncomingMessage, _: ServerResponse) => void paths.push(message.url ?? '')
  const { server } = world().app
  server.on('request', note)
  onTestFinished(() => void server.off('request', note))
  await offeringClient()('GET', '/health/live?offered')
  expect(paths).toContain('/health/live?offered')
})
