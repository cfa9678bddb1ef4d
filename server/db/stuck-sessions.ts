import type { Tx } from './connection.ts'
import { isOwnSession } from './own-schema.ts'

/**
 * The name of connections that read or write a file: their pauses are those of whoever takes or
 * gives its lines, and nobody waits for their locks.
 */
export const FILE_CONNECTION = 'parley-app-file'

/** As long as PostgreSQL lets a session pause between the statements of a transaction. */
const STUCK_MS = 2_000

/** The time between two looks, in which a session that is not stuck goes on. */
const APART_MS = 200

/** A session, and since when it waits. */
type WaitingSession = { pid: number; since: string }

/**
 * `end` ends the sessions of this service that wait for the rest of what their client sends, with
 * all the locks of their transaction. A connection that falls silent between the execution of a
 * statement and its Sync leaves such a session behind, and none of PostgreSQL's timeouts applies to
 * it: it is not idle, and its statement is done.
 *
 * No session is ended by the first look that finds it: when the clock is set forward, those that
 * wait for a moment seem to have waited for long.
 */
export function createStuckSessions() {
  let waiting: WaitingSession[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  return {
    end: async (db: Tx) => {
      if (performance.now() - lookedAt < APART_MS) return
      lookedAt = performance.now()
      const pids = waiting.map(({ pid }) => pid)
      const times = waiting.map(({ since }) => since)
      const found = await db<(WaitingSession & { isEnded: boolean | null })[]>`
        select
          sa.pid, sa.state_change::text as since,
          case
            when sa.state_change < clock_timestamp() - ${STUCK_MS} * interval '1 millisecond'
              and (sa.pid, sa.state_change::text) in (
                select *
                from unnest(${pids}::int[], ${times}::text[])
              )
            then pg_terminate_backend(sa.pid)
          end as is_ended
        from pg_stat_activity sa
        where ${isOwnSession(db)}
          and sa.usename = current_user
          and split_part(sa.application_name, '/', 1) <> ${FILE_CONNECTION}
          and sa.state = 'active'
          and sa.wait_event = 'ClientRead'`
      waiting = found.filter(({ isEnded }) => !isEnded)
    },
  }
}
