import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { databaseError } from '@parley/server/commands/database-error'
import { createMetrics } from '@parley/server/core/metrics'
import { createDb } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { openQueue } from '@parley/server/jobs/queue'
import { timings } from '@parley/server/jobs/timings'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { certificates } from './support/certificates/index.ts'
import { upTo } from './support/events.ts'
import { createDataFolder } from './support/folders.ts'
import { silentLog } from './support/jobs.ts'
import { openTlsProxy } from './support/tls-proxy.ts'
import { unhurried } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
let proxy: Awaited<ReturnType<typeof openTlsProxy>>
beforeAll(async () => {
  proxy = await openTlsProxy(world().databaseUrl)
})
afterAll(() => proxy.close())

/** Connects as migrations, the service and the job queue do: the last by another driver. */
async function connect(url: string) {
  const db = createDb({ url, poolSize: 1, applicationName: 'parley-test-tls', patience: unhurried })
  const openAndCloseQueue = async () => {
    const options = { db, metrics: createMetrics(), timings, log: silentLog }
    const queue = await openQueue({ databaseUrl: url, ...options })
    await queue.close()
  }
  const attempts = [() => migrate(url), () => db.use((db) => db`select`), openAndCloseQueue]
  try {
    return await Promise.all(
      attempts.map((attempt) =>
        attempt().then(
          () => 'connected',
          (error: Error) => error.message,
        ),
      ),
    )
  } finally {
    await db.end({ timeout: 0 })
  }
}

const ca = `sslrootcert=${encodeURIComponent(certificates.path('ca.crt'))}`
const connected = ['connected', 'connected', 'connected']

test.each([
  ['verify-full and its CA', 'localhost', `sslmode=verify-full&${ca}`],
  ['require and its CA', 'localhost', `sslmode=require&${ca}`],
  ['require and its CA, by another name,', '127.0.0.1', `sslmode=require&${ca}`],
  ['require', 'localhost', 'sslmode=require'],
  ['no-verify', 'localhost', 'sslmode=no-verify'],
] as const)(
  'with %s, every driver connects to a server of a private CA',
  async (_, host, given) => {
    expect(await connect(proxy.url(host, given))).toEqual(connected)
  },
)

test.each([
  ['a CA that is not the one of the server', 'localhost', 'sslmode=verify-full', /certificate/],
  ['a certificate for another name', '127.0.0.1', `sslmode=verify-full&${ca}`, /altnames/],
] as const)('no driver connects to a server with %s', async (_, host, given, reason) => {
  for (const outcome of await connect(proxy.url(host, given))) expect(outcome).toMatch(reason)
})

test.each([
  ['of a CA that is not known', 'localhost', 'sslmode=verify-full', /sslrootcert/],
  ['for another name', '127.0.0.1', `sslmode=verify-full&${ca}`, /the host in DATABASE_URL/],
] as const)('a certificate %s is refused with what to look at', async (_, host, given, advice) => {
  const error = await migrate(proxy.url(host, given)).catch((reason: unknown) => reason)
  expect(databaseError(error).message).toMatch(advice)
})

test('a pool works as soon as the file of its certificate is there again', async () => {
  const folder = createDataFolder('tls')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'ca.crt')
  const url = proxy.url('localhost', `sslmode=require&sslrootcert=${encodeURIComponent(file)}`)
  const settings = { poolSize: 1, applicationName: 'parley-test-tls', patience: unhurried }
  const db = createDb({ url, ...settings })
  onTestFinished(() => db.end({ timeout: 0 }))
  const use = () => db.use((connection) => connection`select`)
  for (const _ of upTo(2)) await expect(use()).rejects.toThrow('cannot be read (ENOENT)')
  copyFileSync(certificates.path('ca.crt'), file)
  expect(await use()).toHaveLength(1)
})

test('no driver falls back to TLS that was not asked for, nor from it to plain text', async () => {
  for (const outcome of await connect(proxy.url('localhost', '')))
    expect(outcome).not.toBe('connected')
})
