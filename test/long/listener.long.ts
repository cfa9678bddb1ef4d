import { once } from 'node:events'
import net from 'node:net'
import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const TICK_MS = 1_000
/** Enough attempts to show pauses that grow beyond a second. */
const ATTEMPTS = 9

const world = useWorld()

test('the listener of a node tries to connect every second during an outage', async () => {
  const target = new URL(world().databaseUrl)
  const sockets: net.Socket[] = []
  /** The tick in which each connection was refused. */
  const refused: number[] = []
  let ticks = 0
  let isAway = false
  const door = net.createServer((near) => {
    near.on('error', () => {})
    if (isAway) {
      refused.push(ticks)
      return near.resetAndDestroy()
    }
    const far = net.connect(addressOf(target))
    sockets.push(near)
    for (const side of [near, far]) side.on('error', () => {})
    near.on('close', () => far.destroy())
    near.pipe(far).pipe(near)
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  const { port } = door.address() as net.AddressInfo // it listens on TCP
  const { username, password, pathname } = target
  const broker = createPostgresBroker({
    url: `postgres://${username}${password && `:${password}`}@127.0.0.1:${port}${pathname}`,
    nodeId: 'knocking',
    report: () => {},
    // Only the listener connects meanwhile, and its silence makes no other one.
    timings: { brokerBeatMs: 600_000, brokerSilenceMs: 600_000 },
  })
  /** When it began to listen, each time. */
  const missedAt: number[] = []
  await broker.start({ onNote: () => {}, onMissedNotes: () => missedAt.push(ticks) })
  onTestFinished(async () => {
    await broker.stop()
    for (const socket of sockets) socket.destroy()
    door.close()
  })
  expect(missedAt.length).toBe(1)

  const clock = setInterval(() => (ticks += 1), TICK_MS)
  onTestFinished(() => clearInterval(clock))
  isAway = true
  for (const socket of sockets.splice(0)) socket.resetAndDestroy()
  await until(() => refused.length >= ATTEMPTS)
  const pauses = refused.slice(1).map((tick, index) => tick - (refused[index] ?? 0))
  expect(Math.max(...pauses)).toBeLessThanOrEqual(2)
  isAway = false
  await until(() => missedAt.length === 2)
})

/** The address of a server, which may be a socket in a directory. */
function addressOf({ hostname, port }: URL): net.NetConnectOpts {
  const host = decodeURIComponent(hostname)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port: Number(port) }
}
