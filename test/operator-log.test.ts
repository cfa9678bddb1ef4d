import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { logLines } from './support/log-lines.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('operator-log')
const world = useWorld()
let node: ReturnType<typeof start>
let url = ''

beforeAll(async () => {
  const given = { ...production, LOG_SAMPLE: '1', DATABASE_URL: world().databaseUrl }
  node = start(given, directory)
  url = await node.address()
})
afterAll(() => {
  node?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const operator = () => createApi({ url, adminKey: production.ADMIN_API_KEY })
const appsOf = (operation: string) =>
  until(() => {
    const found = logLines(node).filter((line) => line.operation === operation)
    return found.length > 0 && found.map(({ app }) => app)
  })

test("lines of the operator's requests name the app that they act on", async () => {
  const { id: appId } = await operator().apps.create({ name: 'Acted on' })
  expect(await appsOf('apps.create')).toEqual([appId])
  await operator().apps.get({ appId })
  expect(await appsOf('apps.get')).toEqual([appId])
  await operator().apps.update({ appId, enabled: false })
  expect(await appsOf('apps.update')).toEqual([appId])
  await operator().audit.listOfApp({ appId })
  expect(await appsOf('audit.listOfApp')).toEqual([appId])
  // A list of all apps names no app.
  await operator().apps.list()
  expect(await appsOf('apps.list')).toEqual([undefined])
  const missing = crypto.randomUUID()
  await expect(operator().apps.usage({ appId: missing })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await appsOf('apps.usage')).toEqual([missing])
})

test('lines of refused requests of the console say the code', async () => {
  for (const [fetchSite, status, code] of [
    ['cross-site', 403, 'FORBIDDEN'],
    ['same-origin', 401, 'UNAUTHORIZED'],
  ] as const) {
    const headers = { 'Sec-Fetch-Site': fetchSite, Origin: url }
    expect((await fetch(`${url}/console/admin/apps`, { headers })).status).toBe(status)
    expect(await until(() => logLines(node).find((line) => line.status === status))).toMatchObject({
      route: '/console/admin/apps',
      code,
    })
  }
})

test('the line of a batch of the operator names all apps that it acts on, once each', async () => {
  const create = (name: string) => world().operator.apps.create({ name }) // on another server
  const [{ id: one }, { id: other }] = [await create('A'), await create('B')]
  const input = { 0: { appId: one }, 1: { appId: other }, 2: { appId: one } }
  const query = `batch=1&input=${encodeURIComponent(JSON.stringify(input))}`
  const { status } = await fetch(`${url}/trpc/apps.listKeys,apps.listKeys,apps.listKeys?${query}`, {
    headers: { 'X-Admin-Key': production.ADMIN_API_KEY },
  })
  expect(status).toBe(200)
  expect(await appsOf('apps.listKeys')).toEqual([`${one},${other}`])
})
