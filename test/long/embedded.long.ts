import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { logLines } from '../support/log-lines.ts'
import { production, useChildren } from '../support/start.ts'
import { patient, until } from '../support/until.ts'

const { start } = useChildren()

test('a server restarts its database three times, and says last why it gives up', async () => {
  const dataDir = createDataFolder('embedded-long')
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const settings = { ...production, EMBEDDED_DATABASE: 'yes', PUBLIC_URL: 'https://chat.example' }
  const server = start({ ...settings, DATA_DIR: dataDir }, dataDir)
  const address = await server.address()
  // A move to another database needs this URL: no one could guess the folder of the socket.
  const started = await until(() => logLines(server).find(({ msg }) => msg === 'started'))
  expect(started.database).toMatch(/^postgres:\/\/parley@\S+\/parley$/)
  for (const restarts of [1, 2, 3]) {
    process.kill(databaseIn(dataDir), 'SIGKILL')
    // Waits until the database serves. If it is killed earlier, that counts as a failed start, and
    // the last line says so.
    await vi.waitUntil(
      () => server.output().split('The embedded PostgreSQL serves again').length === 1 + restarts,
      patient,
    )
    expect(server.output()).toContain(`restarting it (${restarts} of 3)`)
    await vi.waitFor(
      async () => expect((await fetch(`${address}/health`)).status).toBe(200),
      patient,
    )
  }
  process.kill(databaseIn(dataDir), 'SIGKILL')
  expect(await server.code).toBe(1)
  expect(JSON.parse(server.output().trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    level: 'fatal',
    msg:
      'The embedded PostgreSQL has ended 4 times within an hour: giving up. ' +
      `Its log is ${join(dataDir, 'postgres.log')}`,
  })
})

test('a server whose database files are gone gives up, and says so last', async () => {
  const dataDir = createDataFolder('embedded-gone')
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const settings = { ...production, EMBEDDED_DATABASE: 'yes', PUBLIC_URL: 'https://chat.example' }
  const server = start({ ...settings, DATA_DIR: dataDir }, dataDir)
  await server.address()
  const database = databaseIn(dataDir)
  rmSync(join(dataDir, 'postgres'), { recursive: true })
  process.kill(database, 'SIGKILL')
  expect(await server.code).toBe(1)
  const last = JSON.parse(server.output().trimEnd().split('\n').at(-1) ?? '')
  expect(last.msg).toMatch(/^The embedded PostgreSQL has ended 4 times within an hour: giving up/)
})

const databaseIn = (dataDir: string) => {
  const [pid] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  return Number(pid)
}
