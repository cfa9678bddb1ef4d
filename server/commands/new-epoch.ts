import { randomBytes } from 'node:crypto'
import { readConfig } from '../config/index.ts'
import { noteCommand } from '../core/audit.ts'
import type { Tx } from '../db/client.ts'
import { pendingMigrations } from '../db/schema-state.ts'
import { useOnce } from '../db/use-once.ts'
import { messageWithHint } from './database-error.ts'
import { withDatabase } from './open.ts'

/**
 * `parley new-epoch`: to be run after a backup was restored, before the servers start. Events that
 * were numbered after the backup are gone, and new events get the same numbers. The new epoch keeps
 * clients from taking the new events for those that they have already seen.
 */
export async function startEpoch({ isForced }: { isForced: boolean }) {
  try {
    await withDatabase(readConfig(), (url) => storeEpoch(url, isForced))
  } catch (error) {
    throw new Error(`The event epoch was not changed: ${messageWithHint(error)}`)
  }
}

/** A server that runs would go on with the epoch that it has read, unlike those that start. */
const RUNNING = '10 seconds'

const storeEpoch = (url: string, isForced: boolean) =>
  useOnce(url, async (db) => {
    await requireTables(db)
    // Refuses a schema that a newer version has migrated: it may keep the epoch elsewhere.
    await pendingMigrations(db)
    if (!isForced) await requireNoServer(db)
    const epoch = randomBytes(8).toString('hex')
    await db`
      insert into service (key, value)
      values ('epoch', ${epoch})
      on conflict (key) do update set value = excluded.value`
    // A backup of a version before the audit log has none.
    const [audit] = await db`
      select
      where to_regclass('audit') is not null`
    if (audit) await noteCommand(db, { operation: 'parley.new-epoch', target: { epoch, isForced } })
    console.log(`New event epoch: ${epoch}`)
  })

async function requireTables(db: Tx) {
  const [found] = await db`
    select
    where to_regclass('service') is not null`
  if (found) return
  throw new Error(
    'the database has no tables of Parley. Restore the backup first, or correct DATABASE_URL',
  )
}

/**
 * The database's backup may also be so fresh that those in it seem to run. One of an older version
 * does not say which of them had stopped.
 */
async function requireNoServer(db: Tx) {
  const [running] = await db<{ count: number }[]>`
    select count(*)::int
    from nodes n
    where n.beat_at > clock_timestamp() - ${RUNNING}::interval
      and to_jsonb(n) ->> 'stopped_at' is null`
  if (!running?.count) return
  const servers = running.count === 1 ? '1 server runs' : `${running.count} servers run`
  throw new Error(
    `${servers} on this database, unless killed within the last 10 s. Stop all of them first; ` +
      '--force changes it all the same',
  )
}
