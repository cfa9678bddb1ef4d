import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { freePort } from './support/ports.ts'
import { bundled, production, useChildren } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('full-log')
const world = useWorld()
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Starts a server whose log is a disk without room, or a pipe without a reader. */
function startWith(log: 'full' | 'closed', variables: Record<string, string>) {
  const output = log === 'full' ? openSync('/dev/full', 'w') : 'pipe'
  const child = spawn(process.execPath, bundled('start'), {
    cwd: directory,
    env: { PATH: process.env.PATH, ...production, LOG_LEVEL: 'debug', ...variables },
    stdio: ['ignore', output, 'ignore'],
  })
  if (typeof output === 'number') closeSync(output)
  child.stdout?.destroy()
  children.adopt(child)
  return { child, ended: once(child, 'exit') }
}

const logs = ['full', 'closed'] as const

test.for(logs)(
  'a server whose log is %s serves, and stops when asked to',
  async (log, { skip }) => {
    skip(log === 'full' && !existsSync('/dev/full'), 'no device is always full')
    const port = await freePort()
    const { databaseUrl } = world()
    const { child, ended } = startWith(log, { DATABASE_URL: databaseUrl, PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    const isHealthy = () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(isHealthy)
    const { apps } = createApi({ url, adminKey: production.ADMIN_API_KEY })
    for (const name of ['One', 'Two']) await apps.create({ name })
    expect(await isHealthy()).toBe(true)
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  },
)

test.for(logs)(
  'a start that fails ends with its code, also when its log is %s',
  async (log, { skip }) => {
    skip(log === 'full' && !existsSync('/dev/full'), 'no device is always full')
    const { ended } = startWith(log, { DATABASE_URL: 'postgres://127.0.0.1:1/parley?sslmode=odd' })
    expect(await ended).toEqual([1, null])
  },
)
