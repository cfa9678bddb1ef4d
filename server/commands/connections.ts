import type { Config } from '../config/index.ts'
import { useOnce } from '../db/use-once.ts'
import { QUEUE_CONNECTIONS } from '../jobs/queue-pool.ts'

/**
 * The connections of a process beside its pool: for events, to listen, for beats and `/health`, for
 * the metrics, and for the checks of a start. One of them also runs the jobs.
 */
const BESIDE_POOL = 6

export type ProcessSizes = Pick<Config, 'workers' | 'poolSize' | 'jobs'>

/**
 * How many connections to the database a server has at most. In a rolling restart a process runs
 * beside its successor.
 */
export const connectionsOf = ({ workers, poolSize, jobs }: ProcessSizes) =>
  (workers === 1 ? 1 : workers + 1) * (poolSize + BESIDE_POOL) +
  (jobs === 'on' ? QUEUE_CONNECTIONS : 0)

/** Warns when the database allows fewer connections than this server alone may need. */
export const connectionWarnings = (url: string, config: ProcessSizes) =>
  useOnce(url, async (db) => {
    // Superusers have no other limit. PostgreSQL 15 reserves none for other roles.
    const [setting] = await db<{ allowed: number }[]>`
      select least(
        current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - case
          when holder.oid is null
            then coalesce(current_setting('reserved_connections', true)::int, 0)
          else 0
        end,
        case when not role.rolsuper then nullif(role.rolconnlimit, -1) end,
        case when not role.rolsuper then nullif(own.datconnlimit, -1) end
      ) as allowed
      from pg_roles role
      join pg_database own on own.datname = current_database()
      left join pg_roles holder
        on holder.rolname = 'pg_use_reserved_connections'
        and pg_has_role(holder.oid, 'usage')
      where role.rolname = current_user`
    const needed = connectionsOf(config)
    if (!setting || needed <= setting.allowed) return []
    return [
      `PostgreSQL allows ${setting.allowed} connections, and this server alone may need ` +
        `${needed}: raise max_connections, or the limit of the role or the database, ` +
        'or lower DATABASE_POOL_SIZE or WORKERS.',
    ]
  })
