import { readConfig } from '../config/index.ts'
import { noteCommand } from '../core/audit.ts'
import { requireDirectConnection } from '../db/require-direct.ts'
import { useOnce } from '../db/use-once.ts'
import { migrateQueue } from '../jobs/queue.ts'
import { grantAgain, grantSchemas } from './grants.ts'
import { migrateWhenReady, whenDatabaseIsReady, withDatabase } from './open.ts'

/** `parley grant`: lets a role read and write all rows, and nothing else. */
export async function grantTo(role: string) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    // Before anything is changed: the name may be misspelt.
    if (!(await whenDatabaseIsReady(() => hasRole(url, role), config)))
      throw new Error(`There is no role "${role}". Make one: create role … login`)
    await migrateWhenReady(url, config)
    await migrateQueue(url)
    await grantAgain(url)
    await useOnce(url, async (db) => {
      await grantSchemas(db, url, role)
      await noteCommand(db, { operation: 'parley.grant', target: { role } })
      console.log(`The role ${role} may run servers and workers with MIGRATE_ON_START=off`)
    })
  })
}

async function hasRole(url: string, role: string) {
  await requireDirectConnection(url)
  return useOnce(url, async (db) => {
    const [found] = await db`
      select
      from pg_roles
      where rolname = ${role}`
    return found !== undefined
  })
}
