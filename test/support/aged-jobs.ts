import { until } from './until.ts'
import type { World } from './world.ts'

/** Waits for a job that has failed once, and makes it too old to be kept. It runs again now. */
export const ageTriedJobs = ({ db }: Pick<World, 'db'>) =>
  until(async () => {
    const aged = await db`
      update graphile_worker._private_jobs
      set run_at = now(),
        payload = (payload::jsonb || '{"since":"2001-02-03T04:05:06Z"}')::json
      where (payload->>'tries')::int > 0
        and locked_at is null`
    return aged.count > 0
  })
