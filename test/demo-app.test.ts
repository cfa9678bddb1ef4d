import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { production, useChildren } from './support/start.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('demo-app')
/** Its database has apps. */
const world = useWorld()
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const { ADMIN_API_KEY } = production
/** Starts a server in development, whose secrets are those of the folder. */
async function start(folder: string, variables: Record<string, string>) {
  const given = { HOST: '127.0.0.1', DATA_DIR: join(directory, folder), ADMIN_API_KEY }
  const server = children.start({ ...given, ...variables }, directory)
  const url = await server.url()
  const operator = createApi({ url, adminKey: ADMIN_API_KEY })
  const demos = async () => {
    const { apps } = await operator.apps.list()
    return apps.filter(({ name }) => name === 'Demo').length
  }
  const hasPlayground = async () => (await fetch(`${url}/playground`)).ok
  return { server, demos, hasPlayground }
}

test('a start in development leaves a database with apps as it is, and says so', async () => {
  const { databaseUrl: DATABASE_URL, operator } = world()
  const before = await operator.apps.list()
  const { server, hasPlayground } = await start('mistaken', { DATABASE_URL })
  expect(await operator.apps.list()).toEqual(before)
  expect(await hasPlayground()).toBe(false)
  expect(server.output()).toMatch(/^Warning: This database has apps already.* NODE_ENV=production/m)
  expect(server.output()).not.toMatch(/^(Demo API key|Playground):/m)
})

test('DEMO_APP=yes adds the demo app to a database with apps, where it then stays', async () => {
  const { databaseUrl: DATABASE_URL } = world()
  const asked = await start('asked', { DATABASE_URL, DEMO_APP: 'yes' })
  expect(await asked.demos()).toBe(1)
  expect(await asked.hasPlayground()).toBe(true)
  const again = await start('asked', { DATABASE_URL })
  expect(await again.server.value('Demo API key')).toBe(await asked.server.value('Demo API key'))
  expect(again.server.output()).not.toContain('no demo app')
  expect(await again.demos()).toBe(1)
})

test('a start in development adds a demo app to an empty database', async () => {
  const first = await start('empty', { DATABASE_URL: await createEmptyDatabase() })
  expect(await first.server.value('Demo API key')).toBeTruthy()
  expect(await first.demos()).toBe(1)
  expect(await first.hasPlayground()).toBe(true)
})
