import { readFileSync, rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { parleyOn } from './app-files/command.ts'
import { createDataFolder } from './support/folders.ts'
import { createEmptyDatabase } from './support/migrations.ts'
import { freePort } from './support/ports.ts'
import { RawSocket } from './support/socket.ts'
import { production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('stop')
const world = useWorld()
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('a stop ends with a line of its duration, and no server seems to run', async () => {
  const url = await createEmptyDatabase()
  const given = { ...production, DATABASE_URL: url, SHUTDOWN_DELAY_SECONDS: '1' }
  const node = children.start(given, directory)
  const address = await node.address()
  const { apiKey } = await createApi({
    url: address,
    adminKey: production.ADMIN_API_KEY,
  }).apps.create({ name: 'Stopped' })
  const minted = await createApi({ url: address, apiKey }).tokens.create({ userId: 'ana' })
  // Its user counts as online for a while after the stop.
  const { closed } = await RawSocket.connect({ url: address }, { minted })
  expect(await parleyOn(url, 'new-epoch')).toMatchObject({
    code: 1,
    output: expect.stringContaining('1 server runs on this database'),
  })
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)
  await closed
  const last = JSON.parse(node.output().trim().split('\n').at(-1) ?? '')
  expect(last).toMatchObject({ level: 'info', msg: 'stopped', node: expect.any(String) })
  expect(last.ms).toBeGreaterThanOrEqual(1_000)
  expect(await parleyOn(url, 'new-epoch')).toMatchObject({ code: 0 })
})

test('a worker ends with the same line, and a start that fails does not', async () => {
  const variables = { ...production, DATABASE_URL: world().databaseUrl, METRICS_PORT: '0' }
  const worker = children.start(variables, directory, 'worker')
  await until(() => worker.output().includes('"worker started"'))
  worker.kill('SIGTERM')
  expect(await worker.code).toBe(0)
  expect(worker.output()).toMatch(/"ms":\d+,"msg":"stopped"\}\n$/)
  const failing = children.start({ ...variables, HOST: '192.0.2.1' }, directory)
  expect(await failing.code).toBe(1)
  expect(failing.output()).not.toContain('"stopped"')
})

test('a stop while worker processes start ends all of them, and says so', async () => {
  const url = await createEmptyDatabase()
  const node = children.start({ ...production, DATABASE_URL: url, WORKERS: '3' }, directory)
  // The first listens before the others are started.
  await node.address()
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)
  expect(node.output()).not.toContain('not stopped within')
  expect(JSON.parse(node.output().trim().split('\n').at(-1) ?? '')).toMatchObject({
    msg: 'stopped',
  })
  expect(await parleyOn(url, 'new-epoch')).toMatchObject({ code: 0 })
})

test('worker processes that end at the same moment are all started again', async () => {
  const [url, port] = [await createEmptyDatabase(), await freePort()]
  const withWorkers = { WORKERS: '2', METRICS_PORT: String(port) }
  const variables = { ...production, ...withWorkers, DATABASE_URL: url }
  const node = children.start(variables, directory)
  const listening = async (count: number) => {
    const isDone = () => node.output().split('"Server listening at ').length > count
    await until(() => isDone() || node.child.exitCode !== null)
    expect(node.child.exitCode).toBeNull()
  }
  await listening(2)
  // The first process knows of both: before that, the end of one is a start that failed.
  await until(() => fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined))
  const { pid } = node.child
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  expect(workers).toHaveLength(2)
  for (const worker of workers) process.kill(Number(worker), 'SIGKILL')
  await listening(4)
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)
})
