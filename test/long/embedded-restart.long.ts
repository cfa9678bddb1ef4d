import { join } from 'node:path'
import { isAlive } from '@parley/server/db/embedded/process'
import { expect, test, vi } from 'vitest'
import { stopClock } from '../support/clock.ts'
import { query, serverOf, settings, useLauncher } from '../support/embedded.ts'
import { patient } from '../support/until.ts'

const { used, start } = useLauncher()
const restarting = (count: number) =>
  `The embedded PostgreSQL has ended: restarting it (${count} of 3)`
const again = 'The embedded PostgreSQL serves again'

test('a database that ends is restarted three times in an hour, and then reported', async () => {
  const notices: string[] = []
  const losses: string[] = []
  const database = await start(used, settings, {
    onNotice: (line) => void notices.push(line),
    onLost: (line) => void losses.push(line),
  })
  await query(database, 'create table kept as select 1 as one')
  process.kill(serverOf(used), 'SIGKILL')
  await vi.waitUntil(() => notices.length === 2, patient)
  expect(notices).toEqual([restarting(1), again])
  await query(database, 'select one from kept')
  // After an hour without an end that one does not count any more.
  stopClock().putForward(3_601_000)
  for (let restarts = 1; restarts <= 3; restarts++) {
    process.kill(serverOf(used), 'SIGKILL')
    await vi.waitUntil(() => notices.length === 2 + 2 * restarts, patient)
    expect(notices.slice(-2)).toEqual([restarting(restarts), again])
    expect(await query(database, 'select one from kept')).toEqual([{ one: 1 }])
  }
  process.kill(serverOf(used), 'SIGKILL')
  await vi.waitUntil(() => losses.length > 0, patient)
  expect(losses).toEqual([
    'The embedded PostgreSQL has ended 4 times within an hour: giving up. ' +
      `Its log is ${join(used, 'postgres.log')}`,
  ])
  await database.stop()
  expect(isAlive(serverOf(used))).toBe(false)
})

test('a database that ends while it is restarted is restarted once more', async () => {
  const notices: string[] = []
  const database = await start(used, settings, {
    onNotice: (line) => void notices.push(line),
    onLost: (line) => void notices.push(line),
  })
  const first = serverOf(used)
  process.kill(first, 'SIGKILL')
  const second = await vi.waitFor(() => started(first), { ...patient, interval: 1 })
  process.kill(second, 'SIGKILL')
  await vi.waitUntil(() => notices.length === 3, patient)
  expect(notices).toEqual([restarting(1), restarting(2), again])
  await query(database, 'select 1 as one')
  await database.stop()
})

/** The server that was started after this one; throws if there is none yet. */
function started(before: number) {
  const pid = serverOf(used)
  if (pid === before || !isAlive(pid)) throw new Error('not started yet')
  return pid
}
