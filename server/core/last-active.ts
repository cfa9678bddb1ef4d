import { LRUCache } from 'lru-cache'
import type { Db, Tx } from '../db/client.ts'

export type LastActive = ReturnType<typeof createLastActive>
type Seen = { appId: string; userId: string }

const EXACT_TO_MS = 60_000
const FLUSH_MS = 2_000

/**
 * Gathers who was active and writes it every few seconds in one statement, for each user at most once a minute: it is
 * never part of a request. A crash loses some seconds of it.
 */
export function createLastActive(db: Db) {
  const recent = new LRUCache<string, true>({ max: 100_000, ttl: EXACT_TO_MS })
  let gathered: Seen[] = []
  let timer: NodeJS.Timeout | undefined

  const touch = ({ appId, userId }: Seen) => {
    const key = `${appId}:${userId}`
    if (recent.has(key)) return
    recent.set(key, true)
    gathered.push({ appId, userId })
    timer ??= setTimeout(() => void flush().catch(() => {}), FLUSH_MS).unref() // out of reach now: the next minute tells
  }
  /** Writes what is gathered; to be called before the database is closed. */
  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const users = gathered
    gathered = []
    if (users.length > 0) await db.use((db) => writeActivity(db, users))
  }
  return { touch, flush }
}

const writeActivity = (db: Tx, users: Seen[]) => db`
  with due as (
    select u.app_id, u.id from users u
    join unnest(${users.map(({ appId }) => appId)}::uuid[], ${users.map(({ userId }) => userId)}::text[]) as s (app_id, user_id) on s.app_id = u.app_id and s.user_id = u.id
    where u.deleted_at is null and (u.last_active_at is null or u.last_active_at < now() - ${EXACT_TO_MS} * interval '1 millisecond')
    for no key update of u skip locked
  )
  update users u set last_active_at = now() from due where u.app_id = due.app_id and u.id = due.id`
