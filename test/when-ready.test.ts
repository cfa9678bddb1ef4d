import { migrate } from '@parley/server/db/migrate'
import { whenReady } from '@parley/server/db/when-ready'
import { expect, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a start waits for a database that is not reachable yet, and says so once', async () => {
  const first = await openDatabaseProxy(world().databaseUrl)
  first.stop()
  const reasons: unknown[] = []
  let tries = 0
  let later: Awaited<ReturnType<typeof openDatabaseProxy>> | undefined
  const open = async () => {
    tries += 1
    if (tries === 3) later = await openDatabaseProxy(world().databaseUrl)
    await migrate(later?.url ?? first.url)
  }
  await whenReady(open, { waitSeconds: 60, onWait: (reason) => void reasons.push(reason) })
  expect(tries).toBe(3)
  expect(reasons).toMatchObject([{ code: 'ECONNREFUSED' }])
  later?.stop()
})

test('a start does not wait when the database refuses it, nor longer than told', async () => {
  const onWait = () => expect.unreachable()
  const elsewhere = new URL(world().databaseUrl)
  elsewhere.pathname = '/no_such_database'
  await expect(
    whenReady(() => migrate(elsewhere.href), { waitSeconds: 60, onWait }),
  ).rejects.toThrow('does not exist')
  const proxy = await openDatabaseProxy(world().databaseUrl)
  proxy.stop()
  await expect(
    whenReady(() => migrate(proxy.url), { waitSeconds: 0, onWait }),
  ).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
