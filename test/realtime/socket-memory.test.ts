import { fork } from 'node:child_process'
import { once } from 'node:events'
import { topics } from '@parley/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Client, Order } from '../bench/connect/clients.ts'
import { allocatedBy } from '../support/allocations.ts'
import { upTo } from '../support/events.ts'
import { collectGarbage, heapInUse } from '../support/heap.ts'
import { insertMembers, insertUsers } from '../support/inserted.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { wsUrlOf } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  presenceGraceSeconds: NEVER / 1_000,
  timings: quietTimings,
})

const SOCKETS = 300
/** Few enough for channels whose members are notified of presence. */
const MEMBERS = 90
const CHANNELS = 10
/** Heap of a socket: 10, and 12 where coverage is measured. Node.js and ws own half of it. */
const HELD_KIB = 13
/** Heap that the code of the server and its database client allocates for a socket. */
const ALLOCATED_KIB = 230

/** Opens sockets from another process, whose memory is not this one's. */
function startClients() {
  const child = fork(new URL('../bench/connect/clients.ts', import.meta.url), {
    execArgv: ['--conditions=parley-source', '--import', 'tsx'],
  })
  onTestFinished(() => void child.kill())
  return async (clients: Client[]) => {
    child.send({ kind: 'open', url: wsUrlOf(world()), clients, atOnce: SOCKETS } satisfies Order)
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
      token: await sign('ws', { appId, userId, generation: 0, isAdmin: false }),
      topics: [topics.user(appId, userId), ...channelTopics],
    })),
  )
}

test('a socket with eleven topics takes few kilobytes, and nothing once it is closed', async () => {
  const { clients: sockets } = world().app.websocketServer
  const open = startClients()
  const closeAll = async () => {
    const opened = [...sockets].map((socket) => new WeakRef(socket))
    await open([])
    // Work done for many sockets at once keeps them in memory for a moment.
    await until(() => {
      collectGarbage()
      return opened.every((socket) => socket.deref() === undefined)
    })
  }
  // Code that is compiled, and what is made once, is not a cost of sockets.
  await open(await insertClients('first', SOCKETS))
  await closeAll()
  const clients = await insertClients('second', SOCKETS)
  const before = heapInUse()
  await open(clients)
  const isCheap = () => {
    const kib = (heapInUse() - before) / SOCKETS / 1_024
    expect(kib).toBeLessThan(HELD_KIB)
  }
  await vi.waitFor(isCheap, { timeout: 10_000, interval: 100 })
  await closeAll()
})

test('connecting allocates little memory, with the changes that members are sent', async () => {
  const open = startClients()
  let least = Number.POSITIVE_INFINITY
  // Code that is not compiled yet allocates more, and so does what a busy machine does one by one.
  for (let group = 1; group <= 6 && least >= ALLOCATED_KIB; group++) {
    const clients = await insertClients(`group-${group}`, MEMBERS)
    least = Math.min(least, (await allocatedBy(() => open(clients))) / MEMBERS / 1_024)
    await open([])
  }
  expect(least).toBeLessThan(ALLOCATED_KIB)
})
