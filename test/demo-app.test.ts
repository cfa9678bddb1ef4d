import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { production, useChildren } from './support/start.ts'

const directory = createDataFolder('demo-app')
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const { ADMIN_API_KEY } = production
async function start(variables: Record<string, string>) {
  const server = children.start({ HOST: '127.0.0.1', ADMIN_API_KEY, ...variables }, directory)
  const url = await server.url()
  const names = async () => {
    const { apps } = await createApi({ url, adminKey: ADMIN_API_KEY }).apps.list()
    return apps.map(({ name }) => name)
  }
  const hasPlayground = async () => (await fetch(`${url}/playground`)).ok
  const stop = async () => {
    server.kill('SIGTERM')
    await server.code
  }
  return { server, url, names, hasPlayground, stop }
}

test('a start in development leaves a database with apps as it is, and says so', async () => {
  const DATABASE_URL = await createEmptyDatabase()
  const service = await start({ ...production, DATABASE_URL })
  await createApi({ url: service.url, adminKey: ADMIN_API_KEY }).apps.create({ name: 'Real' })
  await service.stop()

  const mistaken = await start({ DATABASE_URL })
  expect(await mistaken.names()).toEqual(['Real'])
  expect(await mistaken.hasPlayground()).toBe(false)
  expect(mistaken.server.output()).toMatch(/^Warning: .* no demo app was added.* NODE_ENV=produc/m)
  expect(mistaken.server.output()).not.toMatch(/^(Demo API key|Playground):/m)
  await mistaken.stop()

  const asked = await start({ DATABASE_URL, DEMO_APP: 'yes' })
  expect(await asked.names()).toEqual(['Real', 'Demo'])
  expect(await asked.hasPlayground()).toBe(true)
  await asked.stop()
  // It is there now.
  const again = await start({ DATABASE_URL })
  expect(await again.server.value('Demo API key')).toBeTruthy()
  expect(again.server.output()).not.toContain('no demo app')
  expect(await again.names()).toEqual(['Real', 'Demo'])
})

test('a start in development adds a demo app to an empty database', async () => {
  const first = await start({ DATABASE_URL: await createEmptyDatabase() })
  expect(await first.server.value('Demo API key')).toBeTruthy()
  expect(await first.names()).toEqual(['Demo'])
  expect(await first.hasPlayground()).toBe(true)
})
