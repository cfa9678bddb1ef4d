import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '@parley/server/db/embedded/process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { useChildren } from '../support/start.ts'
import { patient } from '../support/until.ts'

const { start } = useChildren()

test('a server restarts an embedded database that ends, and exits if that is in vain', async () => {
  const dataDir = createDataFolder('embedded-long')
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const server = start({ DATA_DIR: dataDir, HOST: '127.0.0.1' }, dataDir)
  const url = await server.url()
  for (const restarts of [1, 2, 3]) {
    const before = databaseIn(dataDir)
    process.kill(before, 'SIGKILL')
    await vi.waitUntil(() => server.output().includes(`restarting it (${restarts} of 3)`), patient)
    await vi.waitFor(() => {
      const now = databaseIn(dataDir)
      if (now === before || !isAlive(now)) throw new Error('not started yet')
    }, patient)
    await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), patient)
  }
  process.kill(databaseIn(dataDir), 'SIGKILL')
  expect(await server.code).toBe(1)
  expect(server.output()).toContain('The embedded PostgreSQL has ended 4 times: giving up\n')
})

const databaseIn = (dataDir: string) => {
  const [pid] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  return Number(pid)
}
