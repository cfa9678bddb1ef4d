import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createChatClient, isChatError } from '@parley/client'
import { createChatServer } from '@parley/client/server'
import { expect, onTestFinished, test } from 'vitest'
import { texts, until } from '../support/chat.ts'
import { examplesOf, runExamples } from '../support/examples.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ wsUrl: () => wsUrlOf(world()) })
const quietConsole = { log: () => {} }

test("the five minutes of the client's README work on a new app", async () => {
  const { url, apiKey } = world()
  const [backend = '', frontEnd = ''] = examplesOf('client-sdk/README.md').map((block) =>
    block.replace('http://127.0.0.1:5501', url),
  )
  const backendUrl = await serve(async (create) => {
    const env = { PARLEY_API_KEY: apiKey }
    await runExamples([backend], { createServer: create, createChatServer, process: { env } }, [])
  })
  const given = {
    createChatClient,
    isChatError,
    console: quietConsole,
    fetch: (path: string, options: RequestInit) => fetch(new URL(path, backendUrl), options),
  }
  const { chat, room, out } = await runExamples([frontEnd], given, ['chat', 'room', 'out'])
  onTestFinished(() => chat.disconnect())
  expect(await out.sent).toMatchObject({ text: 'Hello @ben', mentions: ['ben'] })
  await until<{ items: { text: string; reactions: unknown[] }[] }>(
    room.messages,
    ({ items }) => items[0]?.reactions.length === 1,
  )
  expect(texts(room.messages.getSnapshot())).toEqual(['Hello @ben'])
})

/** Starts the HTTP server that the program creates, on a free port; returns its address. */
async function serve(program: (create: (handler: RequestListener) => object) => Promise<void>) {
  const server = createServer()
  onTestFinished(() => void server.close())
  await program((handler) => {
    server.on('request', handler)
    return { listen: () => server.listen(0, '127.0.0.1') }
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens to a port
  return `http://127.0.0.1:${port}`
}
