import type { World } from './world.ts'

type Given = { worker?: string; ago?: string; attempts?: number }

/**
 * Enqueues the push of a message as a job on which workers died `deaths` times, the last
 * time `ago` before now. Unless `attempts` says so, it has no attempt left.
 */
export const lockedJobs =
  (world: () => World) =>
  async (messageId: string, deaths: number, given: Given = {}) => {
    const { worker = 'worker-gone', ago = '1 hour', attempts = 5 + deaths } = given
    const { db, appId } = world()
    const payload = { jobs: [{ appId, messageId }], since: new Date().toISOString(), tries: 0 }
    const mostAttempts = 5 + deaths
    await db.begin(async (tx) => {
      const [job] = await tx<{ id: string }[]>`
        select id
        from graphile_worker.add_job(
          'push-message', ${db.json(payload)}::json, max_attempts => ${mostAttempts}::int
        )`
      await tx`
        update graphile_worker._private_jobs
        set
          attempts = ${attempts},
          locked_by = ${worker},
          locked_at = now() - ${ago}::interval
        where id = ${job?.id ?? ''}`
      await tx`
        insert into job_workers (id, seen_at)
        values (${worker}, now() - ${ago}::interval)
        on conflict (id) do update
        set seen_at = excluded.seen_at`
    })
  }
