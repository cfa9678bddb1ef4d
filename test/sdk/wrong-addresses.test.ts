import { randomUUID } from 'node:crypto'
import { createChatClient } from '@parley/client'
import { expect, test } from 'vitest'
import { chatOf, isLive, until } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { useSharedWorld } from '../support/world.ts'

/** What a developer sees who has mistyped the address of the server, or the id of a channel. */

const world = useSharedWorld()

test.each(['', 'chat.example.com', '127.0.0.1:5501', 'localhost:5501', '//chat', 'ws://chat'])(
  'the url %o is refused when the client is made',
  (url) => {
    const make = () => createChatClient({ url, token: () => Promise.reject(new Error('unasked')) })
    expect(make).toThrow(/the url does not begin with http/)
  },
)

test('a client whose url is that of another server is not live, and says why', async () => {
  const { chat, intercept, refuseRequests } = scriptedChat()
  intercept(/./, () => new Response('<h1>Not Found</h1>', { status: 404 }))
  let isConnected = false
  const connected = chat.connect().then(() => {
    isConnected = true
  })
  const { lastError } = await until(chat.connection, (state) => state.lastError !== undefined)
  await quiet()
  expect(lastError?.message).toContain('not by Parley; is the url right?')
  expect([chat.connection.getSnapshot().status, isConnected]).toEqual(['catching-up', false])
  refuseRequests()
  await connected
})

test('a client whose url has a path of the server is not live, and says why', async () => {
  const url = `${world().url}/api`
  const { chat } = await chatOf(world(), 'astray', { url })
  void chat.connect().catch(() => {})
  const { lastError } = await until(chat.connection, (state) => state.lastError !== undefined)
  expect(lastError).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  expect(lastError?.message).toContain("a client's url is the server's address, without /api")
  await expect(chat.api.channels.list()).rejects.toMatchObject({ message: lastError?.message })
})

test('a channel id that does not exist, or is no id, is not found', async () => {
  const { chat } = await chatOf(world(), 'lost')
  void chat.connect()
  await isLive(chat)
  for (const id of [randomUUID(), 'general', 'a/b?c', '%']) {
    const room = chat.channel(id)
    room.watch()
    const { error } = await until(room.messages, ({ status }) => status === 'failed')
    const info = await until(room.info, ({ status }) => status === 'failed')
    expect([id, error?.code, info.error?.code]).toEqual([id, 'NOT_FOUND', 'NOT_FOUND'])
  }
})
