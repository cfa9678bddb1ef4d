import { rmSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { connectOnce } from '@parley/server/db/client'
import { afterAll, expect, inject, test, vi } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { databaseUrl } from '../support/postgres.ts'
import { exchange, expectError, post } from '../support/raw.ts'
import { hasEnded, isRefused, production, useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'

const directory = createDataFolder('start')
const children = useChildren()

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const start = (variables: Record<string, string>, cwd = directory) => children.start(variables, cwd)

test('in development missing secrets and data are created, and kept for later', async () => {
  const dataDir = join(directory, 'embedded')
  // The environment takes precedence over this PORT.
  writeFileSync(join(directory, '.env'), `DATA_DIR=${dataDir}\nHOST=127.0.0.1\nPORT=1\n`)
  const first = start({})
  const [url, adminKey, demoKey] = [
    await first.url(),
    await first.value('Admin key'),
    await first.value('Demo API key'),
  ]
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
  const { wsUrl } = await createApi({ url, apiKey: demoKey }).tokens.create({ userId: 'ana' })
  expect(wsUrl).toBe(`${url.replace('http', 'ws')}/connection/websocket`)
  expect(await first.value('WebSocket')).toBe(wsUrl)
  // A move out of the embedded database needs its address.
  const database = connectOnce(await first.value('Database'))
  expect(await database`select from api_keys`).toHaveLength(1)
  await database.end()
  expect((await createApi({ url, adminKey }).apps.create({ name: 'Mine' })).name).toBe('Mine')
  expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600)
  first.kill('SIGINT')
  expect(await first.code).toBe(0)
  expect(hasEnded(dataDir)).toBe(true)

  const second = start({
    NODE_ENV: 'production',
    JWT_SECRET: production.JWT_SECRET,
    EMBEDDED_DATABASE: 'yes',
  })
  const again = await second.url()
  expect(second.said()).toContain('Warning: DATABASE_URL is unset: using the embedded PostgreSQL')
  expect(second.said()).toContain(
    `Warning: PUBLIC_URL is unset: clients are told to connect to ${again.replace('http', 'ws')}`,
  )
  for (const key of ['', 'undefined', adminKey])
    expectError(
      await post(again, '/admin/apps', { headers: { 'X-Admin-Key': key } }),
      'UNAUTHORIZED',
    )
  expect(
    (await createApi({ url: again, apiKey: demoKey }).tokens.create({ userId: 'ana' })).user.id,
  ).toBe('ana')
  // Half a request keeps the server from closing, until a second signal ends it.
  const { hostname, port } = new URL(again)
  const socket = connectSocket(Number(port), hostname, () =>
    socket.write('POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'),
  )
  socket.on('error', () => {})
  await exchange(again, 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  second.kill('SIGTERM')
  await vi.waitFor(() => isRefused(again), patient)
  second.kill('SIGTERM')
  expect(await second.code).toBe(1)
  await vi.waitFor(() => expect(hasEnded(dataDir)).toBe(true), patient)
})

test('a failed start stops what it had started', async () => {
  const dataDir = join(directory, 'embedded')
  const failing = start({ DATA_DIR: dataDir, HOST: '203.0.113.1' })
  expect(await failing.code).toBe(1)
  expect(failing.output()).toBe('HOST: 203.0.113.1 is no address of this machine (EADDRNOTAVAIL)\n')
  expect(hasEnded(dataDir)).toBe(true)
})

test('two servers started at once on an empty database share it and their secrets', async () => {
  const name = `parley_start_${process.pid}`
  const admin = connectOnce(inject('databaseUrl'))
  await admin.unsafe(`create database ${name}`)
  const dataDir = join(directory, 'shared')
  const both = [1, 2].map(() =>
    start({
      DATA_DIR: dataDir,
      HOST: '0.0.0.0',
      DATABASE_URL: databaseUrl(inject('databaseUrl'), name),
    }),
  )
  const [one, two] = await Promise.all(
    both.map(async (node) => ({
      url: await node.url(),
      adminKey: await node.value('Admin key'),
      apiKey: await node.value('Demo API key'),
    })),
  )
  if (!one || !two) throw new Error('both have started')
  expect(one.url).toMatch(/^http:\/\/localhost:\d+$/)
  expect([two.adminKey, two.apiKey]).toEqual([one.adminKey, one.apiKey])
  expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600)
  const { token } = await createApi(one).tokens.create({ userId: 'ana' })
  expect((await createApi({ url: two.url, token }).channels.list()).channels).toEqual([])
  for (const node of both) node.kill('SIGTERM')
  expect(await Promise.all(both.map(({ code }) => code))).toEqual([0, 0])
  await admin.unsafe(`drop database ${name} with (force)`)
  await admin.end()
})
