import { contract, limits, type Output } from '@parley/contract'
import { implementWithoutTransaction } from '../../core/operation.ts'
import type { Tx } from '../../db/client.ts'
import { requireApp } from './view.ts'

type Usage = Output<typeof contract.apps.usage>
type UsageCount = Usage['users']

/** The tables that have most of the rows; each names its app. */
const TABLES = [
  'users',
  'devices',
  'channels',
  'members',
  'messages',
  'reactions',
  'read_marks',
  'user_streams',
  'webhook_deliveries',
]

export const usage = implementWithoutTransaction(
  contract.apps.usage,
  async ({ db }, { appId, days }): Promise<Usage> => {
    await requireApp(db, appId)
    const [counts] = await countRows(db, appId)
    if (!counts) throw new Error('the counts of an app returned no row')
    const tables = await selectShares(db, appId)
    const shares = new Map(tables.map(({ name, rows }) => [name, rows]))
    const counted = (count: number, table: string): UsageCount => {
      const isExact = count <= limits.usage.counted
      return { count: isExact ? count : Math.max(count, shares.get(table) ?? 0), isExact }
    }
    const channels = counted(counts.channels, 'channels')
    const known = tables.filter(({ bytes }) => bytes !== null)
    return {
      users: counted(counts.users, 'users'),
      channels,
      messages: channels.isExact
        ? { count: counts.messages, isExact: true }
        : { ...counted(counts.messages, 'messages'), isExact: false },
      connectedUsers: counted(counts.connected, 'connections'),
      storageBytes:
        known.length === 0 ? null : known.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
      activeUsers: await selectActiveUsers(db, { appId, days }),
    }
  },
)

type UsageCounts = { users: number; channels: number; messages: number; connected: number }

/**
 * Reads one row more than it counts, to see whether there are more. Each is read by an index of the
 * app.
 */
function countRows(db: Tx, appId: string) {
  const most = limits.usage.counted + 1
  const ofUsers = db`
    select
    from users u
    where u.app_id = ${appId}
      and u.deleted_at is null
    limit ${most}`
  const connected = db`
    select
    from connections con
    where con.app_id = ${appId}
    limit ${most}`
  return db<UsageCounts[]>`
    select
      (select count(*)::int from (${ofUsers}) u) as users,
      (select count(*)::int from (${connected}) con) as connected,
      of_channels.*
    from (
      select count(*)::int as channels, coalesce(sum(c.last_seq), 0)::float8 as messages
      from (
        select c.last_seq
        from channels c
        where c.app_id = ${appId}
          and c.deleted_at is null
        limit ${most}
      ) c
    ) of_channels`
}

type Share = { name: string; rows: number | null; bytes: number | null }

/**
 * The app's share of each table, by the statistics of the database: these know the shares of the
 * apps with the most rows; the others have next to none.
 */
const selectShares = (db: Tx, appId: string) => db<Share[]>`
  select
    tables.name,
    round(known.share * class.reltuples)::float8 as "rows",
    round(known.share * pg_total_relation_size(class.oid))::float8 as bytes
  from unnest(${TABLES}::text[]) tables (name)
  join pg_class class on class.oid = to_regclass(tables.name)
  left join lateral (
    select coalesce(common.freqs[array_position(common.ids, ${appId})], 0) as share
    from (
      select
        stats.most_common_vals::text::text[] as ids,
        stats.most_common_freqs as freqs
      from pg_stats stats
      where stats.schemaname = current_schema()
        and stats.tablename = tables.name
        and stats.attname = 'app_id'
    ) common
  ) known on true`

type Period = { appId: string; days: number }
type ActiveUsers = Usage['activeUsers']

const selectActiveUsers = (db: Tx, { appId, days }: Period) => db<ActiveUsers>`
  select au.day::text as day, au.count as users
  from active_users au
  where au.app_id = ${appId}
    and au.day > (now() at time zone 'utc')::date - ${days}::int
  order by au.day desc`
