import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import { createTokens } from '@parley/server/core/signed-tokens'
import { afterAll, expect, test, vi } from 'vitest'
import { root } from './support/consumer.ts'
import { createDataFolder } from './support/folders.ts'
import { beginPost, exchange, expectError, post } from './support/raw.ts'
import { hasEnded, isRefused, production, useChildren } from './support/start.ts'
import { patient, until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('start-end')
const world = useWorld()
const children = useChildren()
const secretBefore = 'the secret before of 32 bytes or more'

afterAll(() => rmSync(directory, { recursive: true, force: true }))

test.skipIf(process.platform === 'win32')(
  'ending npm start ends the server and its database',
  async () => {
    const dataDir = join(directory, 'npm')
    const npm = spawn('npm', ['start'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        HOST: '127.0.0.1',
        PORT: '0',
        DATA_DIR: dataDir,
      },
    })
    children.adopt(npm)
    let output = ''
    npm.stdout.on('data', (data) => (output += data))
    const url = await vi.waitFor(
      () => /^Base URL: +(\S+)$/m.exec(output)?.[1] ?? Promise.reject(new Error(output)),
      patient,
    )
    npm.kill('SIGTERM')
    await vi.waitFor(() => isRefused(url), patient)
    await vi.waitFor(() => expect(hasEnded(dataDir)).toBe(true), patient)
  },
)

test.skipIf(process.platform === 'win32')('ending npm run worker ends the worker', async () => {
  const npm = spawn('npm', ['run', 'worker'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: world().databaseUrl,
    },
    stdio: 'ignore',
  })
  children.adopt(npm)
  const connections = async () => {
    const [row] = await world().db<{ count: number }[]>`
      select count(*)::int
      from pg_stat_activity
      where datname = current_database()
        and application_name = 'parley-worker'`
    return row?.count
  }
  await vi.waitFor(async () => expect(await connections()).toBeGreaterThan(0), patient)
  npm.kill('SIGTERM')
  await vi.waitFor(async () => expect(await connections()).toBe(0), patient)
})

test('SIGTERM lets calls in progress finish, and no secret is in the output', async () => {
  const dataDir = join(directory, 'none')
  const node = children.start(
    {
      ...production,
      DATA_DIR: dataDir,
      DATABASE_URL: world().databaseUrl,
      JWT_PREVIOUS_SECRETS: secretBefore,
      LOG_LEVEL: 'trace',
      SHUTDOWN_DELAY_SECONDS: '0',
      LOG_SAMPLE: '1',
      PUBLIC_URL: 'https://chat.example.com',
    },
    directory,
  )
  const url = await node.address()
  const { apiKey } = await createApi({ url, adminKey: production.ADMIN_API_KEY }).apps.create({
    name: 'Whispers',
  })
  const { token, wsToken } = await createApi({ url, apiKey }).tokens.create({
    userId: 'ana',
    email: 'secret-mail@example.com',
  })
  const api = createApi({ url, token })
  const { id } = await api.channels.create({ type: 'group', name: 'secret-name' })
  // There is no push provider, so nothing waits for one.
  const waiting = await world().db`
    select from staged_jobs where task = 'subscriber'
    union all
    select from graphile_worker.jobs where task_identifier = 'subscriber'`
  expect(waiting).toHaveLength(0)
  const everything = {
    Authorization: `Bearer ${token}`,
    'X-API-Key': apiKey,
    'X-Admin-Key': production.ADMIN_API_KEY,
    'Content-Type': 'application/json',
  }
  const claims = await (await createTokens([production.JWT_SECRET])).verify('api', token)
  if ('refusal' in claims) throw new Error(claims.refusal)
  const early = await (await createTokens([secretBefore])).sign('api', claims)
  expect(await createApi({ url, token: early }).reads.unreadCount()).toEqual({
    count: 0,
    version: expect.any(Number),
  })
  const forged = `${token.slice(0, -6)}secret`
  await world().db`alter table pins rename to renamed`
  for (const [path, status] of [
    [`/api/channels/${id}/pins?q=secret-query`, 500],
    ['/api/devices/preferences?q=secret-query', 200],
    ['/secret-path/%?q=secret-query', 400],
    ['/secret-path?q=secret-query', 404],
  ] as const) {
    expect((await post(url, path, { method: 'GET', headers: everything })).status).toBe(status)
  }
  await world().db`alter table renamed rename to pins`
  expectError(
    await post(url, '/tokens', { headers: everything, body: '{"secret-body":' }),
    'VALIDATION_ERROR',
  )
  expectError(
    await post(url, '/api/channels?q=secret-query', {
      method: 'GET',
      headers: { Authorization: `Bearer ${forged}` },
    }),
    'INVALID_TOKEN',
  )
  expect(
    await exchange(url, `GET /secret-path HTTP/1.1\r\nAuthorization : ${token}\r\n\r\n`),
  ).toMatchObject([{ status: 400 }])

  const idle = connectSocket(Number(new URL(url).port), new URL(url).hostname)
  const isClosed = new Promise((resolve) => idle.on('close', resolve))
  // Its body comes once everything else has ended that is not in progress, however late that is.
  const send = await beginPost(url, `/api/channels/${id}/messages`, {
    headers: { ...everything, Connection: 'keep-alive' },
    body: '{"text":"secret-text"}',
  })
  node.kill('SIGTERM')
  await vi.waitFor(() => isRefused(url), patient)
  expect(await send.finish()).toMatchObject({ status: 201, headers: { connection: 'close' } })
  await isClosed
  expect(await node.code).toBe(0)

  expect(node.output()).toContain('"msg":"request failed"')
  expect(node.output()).toContain('"operation":"messages.send"')
  for (const secret of [
    ...Object.values(everything).slice(0, 3),
    production.JWT_SECRET,
    secretBefore,
    token,
    wsToken,
    forged,
    'secret-',
  ])
    expect(node.output()).not.toContain(secret)
  expect(node.output()).not.toMatch(/Demo API key|Admin key|stopping soon/)
  expect(existsSync(dataDir)).toBe(false)
})

test('a server goes on serving for SHUTDOWN_DELAY_SECONDS, unless signalled twice', async () => {
  const node = children.start(
    { ...production, DATABASE_URL: world().databaseUrl, SHUTDOWN_DELAY_SECONDS: '300' },
    directory,
  )
  const url = await node.address()
  const statusOf = async (path: string) => (await post(url, path, { method: 'GET' })).status
  expect(await statusOf('/health')).toBe(200)
  node.kill('SIGTERM')
  await vi.waitFor(async () => expect(await statusOf('/health')).toBe(503), patient)
  expect(await statusOf('/health/live')).toBe(200)
  const operator = createApi({ url, adminKey: production.ADMIN_API_KEY })
  expect((await operator.apps.create({ name: 'Late' })).name).toBe('Late')
  node.kill('SIGTERM')
  expect(await node.code).toBe(1)
})

test('an uncaught error is one line of the log with its stack, and ends the process', async () => {
  const bug = `process.on('SIGUSR2',()=>{throw(new%20Error('a%20bug'))})`
  const server = children.start(
    {
      ...production,
      NODE_OPTIONS: `--import=data:text/javascript,${bug}`,
      DATABASE_URL: 'postgres://parley@127.0.0.1:1/parley',
      DATABASE_WAIT_SECONDS: '600',
    },
    directory,
  )
  await until(() => server.output().includes('waiting up to 600 s for the database'))
  server.kill('SIGUSR2')
  expect(await server.code).toBe(1)
  const lines = server.output().trim().split('\n')
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 'fatal',
    msg: 'uncaught error: the process ends',
    err: { message: 'a bug', stack: expect.stringContaining('Error: a bug') },
  })
})
