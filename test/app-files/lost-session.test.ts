import { Writable } from 'node:stream'
import { FILE_CONNECTION } from '@parley/server/db/stuck-sessions'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../support/events.ts'
import { useWorld } from '../support/world.ts'
import { parleyOn } from './command.ts'
import { populate } from './fixture.ts'

const world = useWorld()
beforeAll(async () => {
  await populate(world())
})

/** The standard output of this process, which takes nothing before it is released. */
function heldOutput() {
  const taken: string[] = []
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const output = new Writable({
    highWaterMark: 1,
    write: (chunk, _, done) => {
      taken.push(String(chunk))
      void released.then(() => done())
    },
  })
  const spy = vi.spyOn(process, 'stdout', 'get').mockReturnValue(output as never)
  onTestFinished(() => {
    spy.mockRestore()
    release()
  })
  return { taken, release }
}

type Session = { pid: number; state: string; since: string; isOld: boolean }
const sessions = () => world().db<Session[]>`
  select
    pid, state, state_change::text as since,
    backend_start < clock_timestamp() - interval '1 second' as "isOld"
  from pg_stat_activity
  where application_name = ${FILE_CONNECTION}
    and datname = current_database()`

/** An export that has read as many tables as may wait for its output. */
async function heldExport() {
  const { appId, databaseUrl } = world()
  const { taken, release } = heldOutput()
  const exported = parleyOn(databaseUrl, 'app:export', appId, '-', '--with-secrets')
  await expect.poll(() => taken).toHaveLength(1)
  let before: string | undefined
  const isIdle = async () => {
    const [session] = await sessions()
    const isSame = session?.since === before
    before = session?.since
    return isSame && session?.state === 'idle in transaction'
  }
  await expect.poll(isIdle).toBe(true)
  return { exported, taken, release }
}

test('an export whose session is lost fails, since its file would mix two moments', async () => {
  const { exported, taken, release } = await heldExport()
  for (const { pid } of await sessions()) await world().db`select pg_terminate_backend(${pid}::int)`
  await expect.poll(sessions).toEqual([])
  // The command notices it some turns later. It would fail anyhow if it asked for more before.
  for (const _ of upTo(20)) await sessions()
  release()
  const { code, output } = await exported
  expect(code, output).toBe(1)
  expect(output).toMatch(/CONNECTION_CLOSED|connection to the database was closed/)
  expect(taken.join('')).not.toContain('{"end"')
})

test('an export has one session for as long as it takes', async () => {
  // By default connections of Postgres.js end after 30 to 60 minutes: here after 0.9 s.
  const age = vi.spyOn(Math, 'random').mockReturnValue(-0.9995)
  onTestFinished(() => age.mockRestore())
  const { exported, taken, release } = await heldExport()
  await expect.poll(sessions).toMatchObject([{ isOld: true }])
  release()
  const { code, output } = await exported
  expect(code, output).toBe(0)
  expect(taken.join('')).toContain('{"end"')
})
