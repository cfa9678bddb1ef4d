import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isChatError } from '@parley/client'
import { topics } from '@parley/contract'
import { patience } from '@parley/server/db/client'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@parley/server/db/embedded/index'
import { migrate } from '@parley/server/db/migrate'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { centrifugeOf, listen } from '../support/realtime.ts'
import { installTwin } from '../support/twin/install.ts'
import { createWorld, type World } from '../support/world.ts'

/** Longer than a reconciliation, a beat of the broker and its timeout for a dead connection. */
const OUTAGE_MS = 14_000
const dataDir = mkdtempSync(join(tmpdir(), 'parley-long-outage-'))
chmodSync(dataDir, 0o755) // for the user that root hands the server over to
const start = () =>
  startEmbeddedPostgres({
    dataDir,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '60' },
  })
let server: EmbeddedPostgres
let nodes: [World, World]

beforeAll(async () => {
  server = await start()
  await migrate(server.url)
  await installTwin(server.url)
  // They keep their sockets, however long the database takes to come back.
  const options = { databaseUrl: server.url, patience, timings: { outageMs: 600_000 } }
  nodes = [await createWorld(options), await createWorld(options)]
}, 60_000)
afterAll(async () => {
  for (const node of nodes ?? []) await node.stop()
  await server?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

const endings: [string, () => unknown][] = [
  [
    'killed',
    () =>
      process.kill(
        Number(
          readFileSync(join(server.dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0],
        ),
        'SIGKILL',
      ),
  ],
  ['stopped', () => server.stop()],
]
test.each(endings)(
  'after a long outage of a %s database clients miss no message and no count',
  async (name, end) => {
    const [world, other] = nodes
    const [ana, ben] = await world.users(`ana-${name}`, `ben-${name}`)
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Talk',
      memberIds: [ben.id],
    })
    const clients = nodes.map((node) => centrifugeOf(node, ben))
    const drops: unknown[] = []
    const listeners = await Promise.all(
      clients.map((client) => listen(client, topics.channel(world.appId, channelId))),
    )
    const userListeners = await Promise.all(
      clients.map((client) => listen(client, topics.user(world.appId, ben.id))),
    )
    for (const client of clients) client.on('connecting', (reason) => drops.push(reason))

    let isOver = false
    const acknowledged: string[] = []
    const chat = async (node: World, prefix: string) => {
      const elsewhere = node.api({ token: ana.token })
      for (let n = 1; !isOver; n++) {
        const clientId = `${prefix}-${n}`
        // Again and again until it is acknowledged.
        for (let isSent = false; !isSent; ) {
          isSent = await elsewhere.messages.send({ channelId, text: 'hi', clientId }).then(
            () => true,
            (error: unknown) => {
              if (!isChatError(error, 'UNAVAILABLE')) throw error
              return false
            },
          )
          await delay(40)
        }
        acknowledged.push(clientId)
      }
    }
    const chats = [chat(world, 'here'), chat(other, 'there')]
    await listeners[0]?.untilType('message.new', 20)
    await end()
    await delay(OUTAGE_MS)
    await server.stop()
    server = await start()
    const before = acknowledged.length
    while (acknowledged.length < before + 20) await delay(20)
    isOver = true
    await Promise.all(chats)

    for (const listener of listeners) {
      await listener.untilType('message.new', acknowledged.length)
      expect(listener.received.flatMap(({ offset }) => offset ?? [])).toEqual(
        acknowledged.map((_, index) => index + 3),
      )
      const received = listener.received.flatMap(({ envelope }) =>
        envelope.type === 'message.new' ? [envelope.payload.message.clientId] : [],
      )
      expect(received.sort()).toEqual([...acknowledged].sort())
    }
    for (const userListener of userListeners)
      await userListener.until(
        (received) =>
          received
            .flatMap(({ envelope }) =>
              envelope.type === 'channel.total_unread_changed' ? [envelope.payload.count] : [],
            )
            .at(-1) === acknowledged.length,
      )
    expect(drops).toEqual([])
    for (const client of clients) client.disconnect()
  },
)
