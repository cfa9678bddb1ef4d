import { createDb } from '@parley/server/db/client'
import { releaseWorkers } from '@parley/server/jobs/heartbeat'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabaseProxy } from './support/database-proxy.ts'
import { silentLog, useStagingWorld } from './support/jobs.ts'
import { lockedJobs } from './support/locked-jobs.ts'
import { unhurried, until } from './support/until.ts'

const staging = useStagingWorld()
const enqueueLocked = lockedJobs(() => staging.current().world)

test('a job that was given up is logged although the answer to that was lost', async () => {
  const { db, databaseUrl, metrics } = staging.current().world
  await staging.startNode({ timings: { heartbeatMs: 3_600_000 } })
  const proxy = await openDatabaseProxy(databaseUrl)
  const options = { poolSize: 1, applicationName: 'parley-test', patience: unhurried }
  const cut = createDb({ url: proxy.url, ...options })
  onTestFinished(() => proxy.stop())
  onTestFinished(() => cut.end({ timeout: 0 }))
  const logged = new Set<unknown>()
  const error = (facts: object) => void ('jobId' in facts && logged.add(facts.jobId))
  const lost: boolean[] = []
  for (let answer = 1; lost.at(-1) !== false; answer++) {
    const worker = `worker-${answer}`
    await enqueueLocked('00000000-0000-0000-0000-000000000000', 20, { worker })
    proxy.closeAt({ answer, isDelivered: false })
    const release = () =>
      releaseWorkers(
        { db: cut, metrics, log: { ...silentLog, error } },
        { workers: [worker], notStored: new Map() },
      )
    const [released] = await Promise.allSettled([release()])
    lost.push(released.status === 'rejected')
    proxy.closeAt(undefined)
    await until(() => release().then(() => true))
  }
  expect(lost.length).toBeGreaterThan(5)
  const givenUp = await db<{ id: string }[]>`
    select id::text
    from graphile_worker.jobs
    where last_error = 'its workers died'`
  expect(givenUp).toHaveLength(lost.length)
  expect([...logged].sort()).toEqual(givenUp.map(({ id }) => id).sort())
})
