import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChatClient, type TokenResult } from '@parley/client'
import { createChatServer } from '@parley/client/server'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { isLive, isOffline, ready, texts, until } from '../support/chat.ts'
import { cloneDatabase } from '../support/clone-database.ts'
import { serveLocally } from '../support/local-server.ts'
import { ADMIN_KEY } from '../support/secrets.ts'
import { slowness } from '../support/slowness.ts'
import { production, useChildren } from '../support/start.ts'
import { createValidatedApi } from '../support/validated.ts'

const children = useChildren()
const CLIENTS = 320
const BACK_WITHIN_MS = 20_000 * slowness

test('320 clients are live soon after their server was killed, without a storm', async () => {
  const { start } = await restartable()
  const first = await start()
  const { apiKey } = await createValidatedApi({ url: first.url, adminKey: ADMIN_KEY }).apps.create({
    name: 'Hall',
  })
  const server = createChatServer({ url: first.url, apiKey })
  const userIds = Array.from({ length: CLIENTS }, (_, n) => `user-${n}`)
  await server.users.sync({ users: userIds.map((id) => ({ id })) })
  const host = server.as('host')
  const { id: channelId } = await host.channels.create({
    type: 'group',
    name: 'Hall',
    memberIds: userIds,
  })
  await host.messages.send({ channelId, text: 'before' })

  const tokens: TokenResult[] = []
  for (const userId of userIds) tokens.push(await server.tokens.create({ userId }))
  const calls: Call[] = []
  const sockets = { opened: 0 }
  const clients = await Promise.all(
    tokens.map(async (token) => {
      const chat = createChatClient({
        url: first.url,
        token: () => token,
        ...counted(calls, sockets),
      })
      onTestFinished(() => chat.disconnect())
      const room = chat.channel(channelId)
      chat.channels().subscribe(() => {})
      room.watch()
      await chat.connect()
      await until(room.messages, ready)
      return { chat, room }
    }),
  )

  const gone = Promise.all(clients.map(({ chat }) => isOffline(chat)))
  first.kill()
  await gone
  calls.length = 0
  sockets.opened = 0
  await start()
  const startedAt = performance.now()
  await Promise.all(clients.map(({ chat }) => isLive(chat)))
  const seconds = (performance.now() - startedAt) / 1_000
  await host.messages.send({ channelId, text: 'after' })
  for (const { room } of clients) await until(room.messages, (shown) => texts(shown).length === 2)

  const answered = calls.filter(({ status }) => status !== undefined)
  console.log(
    `${CLIENTS} clients live after ${seconds.toFixed(1)} s: ${sockets.opened} sockets, ` +
      `${answered.length} calls answered of ${calls.length}`,
  )
  expect(seconds * 1_000).toBeLessThan(BACK_WITHIN_MS)
  // On a slow machine the server may be overloaded, and says so.
  const refused = answered.filter(({ status }) => status === 503)
  const done = answered.filter(({ status }) => status !== 503)
  expect(done.filter(({ status }) => status !== 200)).toEqual([])
  expect(done.length).toBeLessThanOrEqual(2 * CLIENTS)
  expect(refused.length).toBeLessThanOrEqual(CLIENTS)
  // Pauses double from half a second: the server would have to be away for minutes.
  expect(sockets.opened).toBeLessThanOrEqual(8 * CLIENTS)
})

type Call = { status: number | undefined }

/** Counts what a client calls and opens. */
function counted(calls: Call[], sockets: { opened: number }) {
  class Counted extends WebSocket {
    constructor(url: string) {
      super(url)
      sockets.opened += 1
    }
  }
  const fetch: typeof globalThis.fetch = async (...request) => {
    const call: Call = { status: undefined }
    calls.push(call)
    const response = await globalThis.fetch(...request)
    call.status = response.status
    return response
  }
  const webSocket = Counted as unknown as typeof globalThis.WebSocket // as Node.js has it
  return { fetch, webSocket }
}

/** A server that always starts on the same port, with the same database. */
async function restartable() {
  const database = await cloneDatabase()
  const directory = mkdtempSync(join(tmpdir(), 'parley-returning-'))
  const free = await serveLocally(() => {})
  await free.stop()
  onTestFinished(async () => {
    rmSync(directory, { recursive: true })
    await database.drop()
  })
  const variables = {
    ...production,
    ADMIN_API_KEY: ADMIN_KEY,
    DATABASE_URL: database.url,
    DATA_DIR: directory,
    PORT: new URL(free.url).port,
    // A backend hands out all tokens within a minute.
    RATE_LIMIT_TOKENS: '0',
  }
  return {
    start: async () => {
      const program = children.start(variables, directory)
      const url = await program.url()
      return { url, kill: () => program.kill('SIGKILL') }
    },
  }
}
