import type { RequestListener } from 'node:http'
import { createChatServer, verifyBeforeSend } from '@parley/client/server'
import { expect, test } from 'vitest'
import { examplesOf, runExamples } from '../support/examples.ts'
import { serveLocally } from '../support/local-server.ts'
import { forbidden, refusal } from '../support/refusal.ts'
import { createWorld } from '../support/world.ts'

test('the examples for the before-send hook work as they are', async () => {
  let screen: RequestListener = (_, response) => response.writeHead(503).end()
  const hook = await serveLocally((...given) => screen(...given))
  const world = await createWorld({ webhooks: { allowedHosts: [hook.host], mustBeHttps: true } })
  try {
    const listen = (listener: RequestListener) => {
      screen = listener
      return { listen: () => {} }
    }
    const { url, apiKey } = world
    const examples = examplesOf('docs/before-send.md').map((example) =>
      example.replace('https://shop.example.com', hook.url),
    )
    expect(examples).toHaveLength(2)
    const given = { createServer: listen, createChatServer, verifyBeforeSend, url, apiKey }
    await runExamples(examples, given, [])
    await world.db`
      update before_send_hooks
      set timeout_ms = 60000
      where app_id = ${world.appId}`
    const ana = await world.user('ana')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Order 7' })
    const send = (text: string) => ana.messages.send({ channelId, text })
    expect(await refusal(send('Visit our CASINO'))).toEqual(forbidden)
    expect(await send('My card: 1234567812345678')).toMatchObject({ text: 'My card: ****' })
    expect(await send('Thanks!')).toMatchObject({ text: 'Thanks!', seq: 2 })
  } finally {
    await world.stop()
    await hook.stop()
  }
})
