import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@parley/server/db/migrate'
import { whenReady } from '@parley/server/db/when-ready'
import { expect, onTestFinished, test, vi } from 'vitest'
import { addressOf, openDatabaseProxy } from './support/database-proxy.ts'
import { silentAt } from './support/silent-line.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Nothing listens here: a port that was free a moment ago may be another test's by now. */
const nowhere = () => {
  const url = new URL(world().databaseUrl)
  url.host = '127.0.0.1:1'
  return url.href
}

test('a start waits for a database that is not reachable yet, and says so once', async () => {
  const reasons: unknown[] = []
  let tries = 0
  let later: Awaited<ReturnType<typeof openDatabaseProxy>> | undefined
  const open = async () => {
    tries += 1
    if (tries === 3) later = await openDatabaseProxy(world().databaseUrl)
    await migrate(later?.url ?? nowhere())
  }
  await whenReady(open, { waitSeconds: 60, onWait: (reason) => void reasons.push(reason) })
  expect(tries).toBe(3)
  expect(reasons).toMatchObject([{ code: 'ECONNREFUSED' }])
  later?.stop()
})

/** An address in a folder, like that of a database in another container that shares it. */
function socketOfLater() {
  const folder = mkdtempSync(join(tmpdir(), 'parley-socket-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const url = new URL(world().databaseUrl)
  url.host = `${encodeURIComponent(folder)}:5432`
  const server = net.createServer((client) => {
    const upstream = net.connect(addressOf(world().databaseUrl))
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream).pipe(client)
  })
  onTestFinished(() => void server.close())
  const path = join(folder, '.s.PGSQL.5432')
  return { url: url.href, listen: () => once(server.listen(path), 'listening') }
}

test('a start waits for a database whose socket is not there yet', async () => {
  const { url, listen } = socketOfLater()
  const reasons: unknown[] = []
  const onWait = async (reason: unknown) => {
    reasons.push(reason)
    await listen()
  }
  await whenReady(() => migrate(url), { waitSeconds: 60, onWait })
  expect(reasons).toMatchObject([{ code: 'ENOENT' }])
})

/** A port that answers as PostgreSQL does while it starts or recovers. */
async function startingUp() {
  const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', '', '']
  const text = Buffer.from(fields.join('\0'))
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + text.length)
  const refusal = Buffer.concat([Buffer.from('E'), length, text])
  const server = net.createServer((client) => {
    client.on('error', () => {})
    client.once('data', () => client.end(refusal))
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(world().databaseUrl)
  url.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`
  return url.href
}

test('a start waits for a database that says that it is starting up', async () => {
  const reasons: unknown[] = []
  const urls = [await startingUp(), world().databaseUrl]
  const open = () => migrate(urls.shift() ?? '')
  await whenReady(open, { waitSeconds: 60, onWait: (reason) => void reasons.push(reason) })
  expect(urls).toEqual([])
  expect(reasons).toMatchObject([{ code: '57P03', message: 'the database system is starting up' }])
})

test('a start whose first connection is accepted and not answered tries another', async () => {
  const { url, silenced } = await silentAt('pg_backend_pid', world())
  const reasons: unknown[] = []
  // They go on by themselves, and can be put forward.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  const onWait = (reason: unknown) => void reasons.push(reason)
  const started = whenReady(() => migrate(url), { waitSeconds: 60, onWait })
  await vi.waitUntil(() => silenced() > 0, patient)
  await vi.advanceTimersByTimeAsync(15_000)
  await started
  expect(reasons).toMatchObject([{ message: expect.stringMatching(/^DATABASE_URL .* no answer/) }])
})

test.each([
  ['a name that is known only once its container runs', 'ENOTFOUND'],
  ['a server that ends the connection while it is written to', 'EPIPE'],
  ['a server that is stopped meanwhile', '57P01'],
  ['a server that has crashed meanwhile', '57P02'],
  ['a server that has no place for another connection', '53300'],
  ['a server that fell silent', 'DEADLINE_EXCEEDED'],
])('a start waits for %s', async (_, code) => {
  const reasons: unknown[] = []
  const failures = [Object.assign(new Error('not there yet'), { code })]
  const open = async () => {
    const [failure] = failures.splice(0)
    if (failure) throw failure
  }
  await whenReady(open, { waitSeconds: 60, onWait: (reason) => void reasons.push(reason) })
  expect(reasons).toMatchObject([{ code }])
})

test('a start does not wait when the database refuses it, nor beyond its limit', async () => {
  const onWait = () => expect.unreachable()
  const elsewhere = new URL(world().databaseUrl)
  elsewhere.pathname = '/no_such_database'
  await expect(
    whenReady(() => migrate(elsewhere.href), { waitSeconds: 60, onWait }),
  ).rejects.toThrow('does not exist')
  await expect(
    whenReady(() => migrate(nowhere()), { waitSeconds: 0, onWait }),
  ).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
