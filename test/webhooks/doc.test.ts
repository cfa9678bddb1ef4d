import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChatServer, verifyWebhook } from '@parley/client/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examplesOf, runExamples } from '../support/examples.ts'
import { until } from '../support/until.ts'
import { createWorld, type World } from '../support/world.ts'

/** The request listener of the example. */
let receive: RequestListener = (_, response) => response.writeHead(503).end()
const server = createServer((...given) => receive(...given))
let host = ''
let world: World
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  host = `127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
  world = await createWorld({ jobs: {}, webhooks: { allowedHosts: [host], mustBeHttps: true } })
})
afterAll(async () => {
  await world.stop()
  server.closeAllConnections()
  server.close()
})

test('the examples for webhooks work as they are, in a server that runs jobs', async () => {
  const listen = (listener: RequestListener) => {
    receive = listener
    return { listen: () => {} }
  }
  const [ana] = await world.users('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Order 7' })
  const examples = examplesOf('docs/webhooks.md').map((example) =>
    example.replace('https://shop.example.com', `http://${host}`),
  )
  expect(examples).toHaveLength(4)
  const { url, apiKey, backend } = world
  const given = { createServer: listen, createChatServer, verifyWebhook, url, apiKey }
  const names = ['answers', 'webhookId', 'deliveries']
  const { answers, webhookId, deliveries } = await runExamples(examples, given, names)
  expect(deliveries).toMatchObject([{ eventType: 'webhook.test' }])
  await ana.messages.send({ channelId, text: 'Thanks!' })
  await until(() => answers.includes('Thanks!'))
  await until(async () =>
    (await backend.webhooks.deliveries({ webhookId })).deliveries.every(
      ({ status }) => status === 'delivered',
    ),
  )
  expect(answers).toEqual(['Thanks!'])
})
