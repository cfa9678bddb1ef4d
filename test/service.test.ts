import { limits } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { expect, inject, onTestFinished, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('health reports the version and the database, and liveness only the version', async () => {
  const { url } = world()
  const answer = async (path: string) => {
    const response = await fetch(url + path)
    return { status: response.status, body: await response.json() }
  }
  expect(await answer('/health')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion, checks: { database: 'ok' } },
  })
  expect(await answer('/health/live')).toEqual({
    status: 200,
    body: { status: 'ok', version: limits.apiVersion },
  })
})

test('health fails while the database cannot be asked, and liveness does not', async () => {
  const { url, databaseUrl } = world()
  const status = async (path: string) => (await fetch(url + path)).status
  const database = new URL(databaseUrl).pathname.slice(1)
  const admin = connectOnce(inject('databaseUrl'))
  onTestFinished(() => admin.end())
  await admin.unsafe(`alter database ${database} with allow_connections false`)
  try {
    await admin`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = ${database}
        and application_name = 'parley-test'`
    expect(await status('/health')).toBeGreaterThanOrEqual(500)
    expect(await status('/health/live')).toBe(200)
  } finally {
    await admin.unsafe(`alter database ${database} with allow_connections true`)
  }
  expect(await status('/health')).toBe(200)
})
