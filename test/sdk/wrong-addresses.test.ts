import { randomUUID } from 'node:crypto'
import { type ConnectionState, createChatClient, isChatError } from '@parley/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { chatOf, isLive, until } from '../support/chat.ts'
import { quiet, type ScriptedChat, scriptedChat } from '../support/scripted/index.ts'
import { useSharedWorld } from '../support/world.ts'

/** A developer has mistyped the address of the server, or the id of a channel. */

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

/** A client in a page, before it has connected for the first time. */
function inPage({ onLine = true } = {}) {
  vi.stubGlobal('location', { origin: 'http://page' })
  vi.stubGlobal('navigator', { onLine })
  onTestFinished(() => void vi.unstubAllGlobals())
  return scriptedChat()
}
/** The messages of the client's next attempt, which fails, and of a call. */
async function failures({ chat }: Pick<ScriptedChat, 'chat'>) {
  void chat.connect().catch(() => {})
  const failed = await until(chat.connection, (state) => state.lastError !== undefined)
  const refused = await chat.api.users.get({ userId: 'ana' }).catch((error: unknown) => error)
  return [failed.lastError?.message, isChatError(refused) && refused.message]
}

test('a client that has never reached its server says what to check', async () => {
  const scripted = inPage()
  scripted.network.isCut = true
  const advice = expect.stringMatching(/http:\/\/page in its ALLOWED_ORIGINS\?$/)
  expect(await failures(scripted)).toEqual([advice, advice])
})

test('a client whose device is offline says so, and not what to check', async () => {
  const scripted = inPage({ onLine: false })
  scripted.network.isCut = true
  const words = expect.stringMatching(/; the device is offline$/)
  expect(await failures(scripted)).toEqual([words, words])
})

test('a client that was live does not doubt its url in an outage', async () => {
  const scripted = inPage()
  const { chat, cut } = scripted
  await chat.connect()
  cut()
  const isLost = ({ lastError }: ConnectionState) => lastError !== undefined
  const { lastError: lost } = await until(chat.connection, isLost)
  // This is the error of the attempt after it.
  const isRefused = (state: ConnectionState) => isLost(state) && state.lastError !== lost
  const { lastError } = await until(chat.connection, isRefused)
  expect(lastError?.message).toMatch(/^no connection: (?!.*ALLOWED_ORIGINS)/)
})

test('a client whose socket token is refused says so, and not that the url is wrong', async () => {
  const scripted = inPage()
  scripted.network.refusesTokens = true
  const { chat } = scripted
  void chat.connect().catch(() => {})
  const { lastError } = await until(chat.connection, (state) => state.lastError !== undefined)
  expect(lastError?.message).toBe('no connection: token expired')
})
