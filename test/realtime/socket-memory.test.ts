import { fork } from 'node:child_process'
import { once } from 'node:events'
import { topics } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import type { Client, Order } from '../bench/connect/clients.ts'
import { upTo } from '../support/events.ts'
import { collectGarbage, heapInUse } from '../support/heap.ts'
import { insertMembers, insertUsers } from '../support/inserted.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const NEVER = 1_000_000
const world = useWorld({ timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER } })

const SOCKETS = 300
const CHANNELS = 10
/** Of the heap. Half of it are the objects of Node.js and of ws. */
const BUDGET_KIB = 11

/** Opens sockets from another process, whose memory is not this one's. */
function startClients() {
  const child = fork(new URL('../bench/connect/clients.ts', import.meta.url), {
    execArgv: ['--conditions=parley-source', '--import', 'tsx'],
  })
  onTestFinished(() => void child.kill())
  return async (clients: Client[]) => {
    child.send({ kind: 'open', url: wsUrlOf(world()), clients, atOnce: 50 } satisfies Order)
    await once(child, 'message')
  }
}

/** Users in ten channels of their own, with the topics of these and their own. */
async function insertClients(prefix: string, count: number): Promise<Client[]> {
  const { appId, sign } = world()
  const ids = await insertUsers(world(), prefix, count)
  const ana = await world().user('ana')
  const channelTopics: string[] = []
  for (const _ of upTo(CHANNELS)) {
    const { id } = await ana.channels.create({ type: 'group', name: 'Talk' })
    await insertMembers(world(), id, ids)
    channelTopics.push(topics.channel(appId, id))
  }
  return Promise.all(
    ids.map(async (userId) => ({
      token: await sign('ws', { appId, userId, generation: 0, admin: false }),
      topics: [topics.user(appId, userId), ...channelTopics],
    })),
  )
}

test('a socket with eleven topics takes few kilobytes, and nothing once it is closed', async () => {
  const { clients: sockets } = world().app.websocketServer
  const open = startClients()
  const closeAll = async () => {
    await open([])
    await until(() => sockets.size === 0)
  }
  // Code that is compiled, and what is made once, is not a cost of sockets.
  await open(await insertClients('first', SOCKETS))
  await closeAll()
  const clients = await insertClients('second', SOCKETS)
  const before = heapInUse()
  await open(clients)
  const kib = (heapInUse() - before) / SOCKETS / 1_024
  expect(kib).toBeLessThan(BUDGET_KIB)
  const opened = [...sockets].map((socket) => new WeakRef(socket))
  await closeAll()
  collectGarbage()
  expect(opened.filter((socket) => socket.deref() !== undefined)).toHaveLength(0)
})
