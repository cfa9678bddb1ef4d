import type { Db } from '@parley/server/db/client'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import { AT_ONCE } from '@parley/server/jobs/given-up'
import { openQueue } from '@parley/server/jobs/queue'
import { timings } from '@parley/server/jobs/timings'
import { silentLog } from './jobs.ts'
import type { World } from './world.ts'

/** A job of an app that was given up, in a world that need not run jobs. Returns its id. */
export async function insertGivenUpJob(
  world: Pick<World, 'db' | 'pool' | 'metrics' | 'databaseUrl'>,
  appId: string,
) {
  await createQueue(world)
  const { db } = world
  const payload = { jobs: [{ appId }], since: new Date().toISOString(), tries: 0 }
  const [job] = await db<{ id: string }[]>`
    select failed.id
    from graphile_worker.add_job('preview', ${db.json(payload)}::json) added,
      graphile_worker.permanently_fail_jobs(array[added.id], 'a bug') failed`
  if (!job) throw new Error('no job was inserted')
  return job.id
}

/** What a task of the cleanup works with, in steps of its usual size. */
export const stepsOn = (db: Pick<Db, 'use'>) => ({
  db,
  checkpoint: () => {},
  batch: createBatchSize(AT_ONCE),
})

/** Once for a database, since tests ask for several jobs at the same time. */
const queues = new Map<string, Promise<void>>()
export function createQueue({
  pool: db,
  metrics,
  databaseUrl,
}: Pick<World, 'pool' | 'metrics' | 'databaseUrl'>) {
  const options = { databaseUrl, db, metrics, timings, log: silentLog }
  const created = queues.get(databaseUrl) ?? openQueue(options).then((queue) => queue.close())
  queues.set(databaseUrl, created)
  return created
}
