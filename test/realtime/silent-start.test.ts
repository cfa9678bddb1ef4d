import { once } from 'node:events'
import net from 'node:net'
import { createPostgresBroker } from '@parley/server/realtime/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { addressOf } from '../support/database-proxy.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/** A way to the database on which the first connection that listens falls silent at that moment. */
async function silentAtListen() {
  let silenced = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ ...addressOf(world().databaseUrl), noDelay: true })
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}))
    let isSilent = false
    client.on('data', (bytes) => {
      isSilent ||= silenced === 0 && bytes.includes('listen "')
      if (isSilent) silenced += 1
      else upstream.write(bytes)
    })
    upstream.on('data', (bytes) => !isSilent && client.write(bytes))
    client.on('close', () => upstream.destroy())
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(world().databaseUrl)
  url.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}` // it listens on TCP
  return { url: url.href, silenced: () => silenced }
}

test('a node starts although its first connection that listens falls silent', async () => {
  const { url, silenced } = await silentAtListen()
  const problems: string[] = []
  const broker = createPostgresBroker({
    url,
    nodeId: 'silent-start',
    report: (_, problem) => void problems.push(problem),
    timings: { brokerBeatMs: 100, brokerSilenceMs: 1_000 },
  })
  onTestFinished(broker.stop)
  await broker.start({ onNote: () => {}, onMissedNotes: () => {} })
  expect(silenced()).toBeGreaterThan(0)
  expect(problems).toEqual([])
})
