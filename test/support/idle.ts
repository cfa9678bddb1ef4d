import { until } from './until.ts'
import type { World } from './world.ts'

/** Resolves once no job is left to be done now. */
export const idle = ({ db }: World) =>
  until(async () => {
    const [row] = await db<{ count: number }[]>`
      select
        (select count(*) from staged_jobs)::int
        + (select count(*) from graphile_worker.jobs where attempts < max_attempts)::int as count`
    return row?.count === 0
  })
