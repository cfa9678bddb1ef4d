import { once } from 'node:events'
import net from 'node:net'
import { createMetricsLease } from '@parley/server/core/metrics-lease'
import { createDb } from '@parley/server/db/client'
import { inspect } from '@parley/server/db/migrate'
import { createQueuePool } from '@parley/server/jobs/queue-pool'
import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { expect, onTestFinished, test } from 'vitest'
import { unhurried, until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** They take no locks that calls wait for. */
const OUTSIDE_POOLS = ['parley-listener', 'parley-migrations']
const STARTUP = 196_608
const HEADER_BYTES = 8

/** The settings that a connection begins with, if these bytes are its beginning. */
function settingsIn(bytes: Buffer) {
  if (bytes.length < HEADER_BYTES || bytes.readInt32BE(4) !== STARTUP) return undefined
  const words = bytes.toString('utf8', HEADER_BYTES, bytes.readInt32BE(0)).split('\0')
  const settings = new Map<string, string>()
  for (let index = 0; words[index]; index += 2)
    settings.set(words[index] ?? '', words[index + 1] ?? '')
  for (const [, name = '', value = ''] of (settings.get('options') ?? '').matchAll(
    /-c (\w+)=(\S+)/g,
  ))
    settings.set(name, value)
  return settings
}

/** A way to the database that records the settings of each connection. */
async function openRecorder(target: string) {
  const begun: Map<string, string>[] = []
  const { hostname, port } = new URL(target)
  const host = decodeURIComponent(hostname)
  const server = net.createServer((client) => {
    const upstream = host.startsWith('/')
      ? net.connect(`${host}/.s.PGSQL.${port}`)
      : net.connect(Number(port), host)
    client.on('data', (bytes) => {
      const settings = settingsIn(bytes)
      if (settings) begun.push(settings)
    })
    client.pipe(upstream).pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}` // listening on TCP
  return { url: url.href, begun }
}

test('the server ends connections whose client is gone, or idle in a transaction', async () => {
  const { url, begun } = await openRecorder(world().databaseUrl)
  const db = createDb({ url, poolSize: 1, applicationName: 'parley' })
  await Promise.all([db.use((connection) => connection`select 1`), db.ping()])
  await db.end({ timeout: 1 })
  const lease = createMetricsLease(url)
  await lease.isHeld()
  await lease.release()
  const queue = createQueuePool(url, { onConnectionLost: () => {} })
  await queue.pgPool.query('select 1')
  await queue.close()
  const broker = createPostgresBroker({ url, nodeId: 'settings', report: () => {} })
  await broker.start({ onNote: () => {}, onMissedNotes: () => {} })
  broker.send({ kind: 'hint', topic: 'nothing', offset: 1 })
  await until(() => begun.some((settings) => settings.get('application_name') === 'parley-broker'))
  await broker.stop()
  await inspect(url)
  const names = new Set(begun.map((settings) => settings.get('application_name')))
  expect([...names].sort()).toEqual([
    'parley',
    'parley-broker',
    'parley-jobs',
    'parley-listener',
    'parley-metrics',
    'parley-migrations',
    'parley-start',
  ])
  for (const settings of begun) {
    const name = settings.get('application_name')
    const isOfPool = !OUTSIDE_POOLS.includes(String(name))
    expect({ name, ...Object.fromEntries(settings) }).toMatchObject({
      name,
      tcp_user_timeout: '10000',
      tcp_keepalives_idle: '10',
      tcp_keepalives_interval: '5',
      tcp_keepalives_count: '3',
      idle_in_transaction_session_timeout: isOfPool ? '2000' : '30000',
    })
  }
})

test('closing a database closes all its connections', async () => {
  const name = 'parley-test-closed'
  const options = { poolSize: 2, applicationName: name, patience: unhurried }
  const db = createDb({ url: world().databaseUrl, ...options })
  await Promise.all([
    db.use((connection) => connection`select`),
    db.useApart((connection) => connection`select`),
    db.ping(),
  ])
  const open = () => world().db`
    select
    from pg_stat_activity
    where application_name = ${name}`
  expect(await open()).toHaveLength(3)
  await db.end({ timeout: 1 })
  await until(async () => (await open()).length === 0)
})
