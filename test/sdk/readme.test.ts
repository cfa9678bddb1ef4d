import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type ChatClientOptions,
  createChatClient,
  isChatError,
  type OutboxStorage,
  type Room,
} from '@parley/client'
import { type ChatServerOptions, createChatServer } from '@parley/client/server'
import { createFakeChat } from '@parley/client/testing'
import { expect, onTestFinished, test } from 'vitest'
import { texts, until } from '../support/chat.ts'
import { examplesOf, runExamples } from '../support/examples.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { scriptedChat } from '../support/scripted/index.ts'
import { patient } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ wsUrl: () => wsUrlOf(world()) })
const quietConsole = { log: () => {} }
const TOKEN = {
  token: 'token',
  wsToken: 'socket',
  user: { id: 'ana', name: 'Ana', image: null },
  expiresIn: 86_400,
  appId: 'app',
  wsUrl: 'ws://127.0.0.1:1',
}

test("the five minutes of the client's README work on a new app", async () => {
  const { url, apiKey, appId, db } = world()
  const [backend = '', , frontEnd = ''] = examplesOf('client-sdk/README.md').map((block) =>
    block.replace('http://127.0.0.1:5501', url),
  )
  const said: string[] = []
  const backendUrl = await serve(async (create) => {
    const env = { PARLEY_API_KEY: apiKey }
    const console = { log: (line: string) => said.push(line) }
    const given = { createServer: create, createChatServer, process: { env }, console }
    await runExamples([backend], given, [])
  })
  await expect.poll(() => said).toEqual(['Tokens: http://127.0.0.1:3000/chat-token'])
  // The backend does not wait for its users. No one opens a page as soon as that.
  const findBen = () => db`
    select
    from users
    where app_id = ${appId}
      and id = 'ben'`
  await expect.poll(findBen).toHaveLength(1)
  const given = {
    createChatClient,
    isChatError,
    console: quietConsole,
    fetch: (path: string, options: RequestInit) => fetch(new URL(path, backendUrl), options),
  }
  const { chat } = await runExamples([frontEnd], given, ['chat'])
  onTestFinished(() => chat.disconnect())
  const { messages }: Room = await chat.dm('ben')
  const shown = await until(messages, ({ items }) => items[0]?.reactions.length === 1)
  expect(texts(shown)).toEqual(['Hello @ben'])
  expect(shown.items[0]?.mentions).toEqual(['ben'])
})

test('the client for React Native listens to the app until its user logs out', async () => {
  const examples = examplesOf('client-sdk/README.md')
  const native = examples.filter((block) => block.includes('createNativeChat'))
  const listeners = new Set<() => void>()
  const addEventListener = (_type: string, listener: () => void) => {
    listeners.add(listener)
    return { remove: () => listeners.delete(listener) }
  }
  const given = { createChatClient: createFakeChat, AppState: { addEventListener } }
  const { createNativeChat } = await runExamples(native, given, ['createNativeChat'])
  const chat = createNativeChat({})
  expect(listeners.size).toBe(1)
  await chat.logout()
  expect(listeners.size).toBe(0)
})

test('the backend of the five minutes starts and answers while the server is down', async () => {
  const [backend = ''] = examplesOf('client-sdk/README.md')
  const errors: unknown[] = []
  const backendUrl = await serve(async (create) => {
    const createDown = (options: ChatServerOptions) =>
      createChatServer({ ...options, url: 'http://127.0.0.1:1' })
    const given = {
      createServer: create,
      createChatServer: createDown,
      process: { env: {} },
      console: { ...quietConsole, error: (error: unknown) => errors.push(error) },
    }
    await runExamples([backend], given, [])
  })
  const tokenOf = (path: string) => fetch(new URL(path, backendUrl), { method: 'POST' })
  expect((await tokenOf('/chat-token?user=ana')).status).toBe(503)
  expect((await tokenOf('/chat-token?user=eve')).status).toBe(404)
  await expect.poll(() => errors.length).toBe(2)
})

test('the five minutes of the browser fail at nothing while the server is down', async () => {
  const [, , frontEnd = ''] = examplesOf('client-sdk/README.md')
  const lines: unknown[][] = []
  const given = {
    createChatClient: (options: ChatClientOptions) =>
      createChatClient({ ...options, url: 'http://127.0.0.1:1', token: () => TOKEN }),
    isChatError,
    console: { log: (...line: unknown[]) => lines.push(line) },
  }
  const { chat } = await runExamples([frontEnd], given, ['chat'])
  onTestFinished(() => chat.disconnect())
  const down = expect.stringContaining('127.0.0.1:1')
  await expect.poll(() => lines, patient).toContainEqual(['try again later:', down])
  await expect.poll(() => lines, patient).toContainEqual(['offline', down])
  expect(chat.connection.getSnapshot().status).not.toBe('live')
})

test("React Native's storage mixes no users, and knows the last one offline", async () => {
  const rows = new Map<string, string>()
  // AsyncStorage 1, 2 and 3 have these methods in common.
  const AsyncStorage = {
    getAllKeys: async () => [...rows.keys()],
    getItem: async (key: string) => rows.get(key) ?? null,
    setItem: async (key: string, row: string) => void rows.set(key, row),
    removeItem: async (key: string) => void rows.delete(key),
  }
  const recipe = examplesOf('client-sdk/README.md').filter((block) =>
    block.includes('AsyncStorage'),
  )
  const given = { AsyncStorage }
  const { storage }: { storage: OutboxStorage } = await runExamples(recipe, given, ['storage'])
  const operation = { channelId: 'c', text: 'x', attachments: [] }
  const owners = ['http://chat app:me', 'http://chat app:me:2', 'http://chat app:me%3A2']
  for (const [index, owner] of owners.entries())
    for (const time of [2, 1])
      await storage.put(owner, { ...operation, clientId: `${index}:${time}`, createdAt: `${time}` })
  for (const [index, owner] of owners.entries()) {
    const ids = (await storage.load(owner)).map(({ clientId }) => clientId)
    expect(ids).toEqual([`${index}:1`, `${index}:2`])
    for (const id of ids) await storage.delete(owner, id)
  }
  expect(rows.size).toBe(0)
  const first = scriptedChat({ storage, userId: 'me' })
  await first.chat.connect()
  await expect.poll(() => rows.size).toBe(1)
  first.chat.disconnect()
  const second = scriptedChat({ storage, userId: 'me' })
  second.cut()
  second.chat.connect().catch(() => {})
  await until(second.chat.me, (me) => me?.id === 'me')
  await second.chat.logout()
  expect(rows.size).toBe(0)
})

/** Starts the HTTP server that the program creates, on a free port; returns its address. */
async function serve(program: (create: (handler: RequestListener) => object) => Promise<void>) {
  const server = createServer()
  onTestFinished(() => void server.close())
  await program((handler) => {
    server.on('request', handler)
    const listen = (_port: number, host: string, onListening?: () => void) =>
      server.listen(0, host, onListening)
    return { listen }
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens to a port
  return `http://127.0.0.1:${port}`
}
