import { readConfig } from '../config.ts'
import { connectOnce, type Tx } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import { ownSchema, queueSchemaOf } from '../db/own-schema.ts'
import { migrateQueue } from '../jobs/queue.ts'
import { whenDatabaseIsReady, withDatabase } from './open.ts'

/** `parley grant`: lets a role read and write all rows, and nothing else. */
export async function grantTo(role: string) {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    await whenDatabaseIsReady(() => migrate(url), config)
    await migrateQueue(url)
    const db = connectOnce(url)
    try {
      const [found] = await db`select from pg_roles where rolname = ${role}`
      if (!found) throw new Error(`There is no role ${role}. Make one: create role … login`)
      const own = ownSchema(url)
      const schemas = own === undefined ? ['public', 'drizzle'] : [own]
      for (const schema of new Set([...schemas, queueSchemaOf(url)]))
        await grantSchema(db, schema, role)
      console.log(`The role ${role} may run servers and workers with MIGRATE_ON_START=off`)
    } finally {
      await db.end({ timeout: 1 })
    }
  })
}

/** All that there is in the schema, and what its owner adds later. */
async function grantSchema(db: Tx, schema: string, role: string) {
  const [inSchema, to] = [db`in schema ${db(schema)}`, db`to ${db(role)}`]
  await db`grant usage on schema ${db(schema)} ${to}`
  await db`grant select, insert, update, delete on all tables ${inSchema} ${to}`
  await db`grant usage, select on all sequences ${inSchema} ${to}`
  await db`
    alter default privileges ${inSchema}
    grant select, insert, update, delete on tables ${to}`
  await db`
    alter default privileges ${inSchema}
    grant usage, select on sequences ${to}`
  // The queue's tables show their rows to their owner only, unless a policy says otherwise.
  const guarded = await db<{ name: string }[]>`
    select c.relname as name
    from pg_class c
    where c.relnamespace = ${schema}::regnamespace
      and c.relrowsecurity`
  for (const { name } of guarded) {
    const table = db`${db(schema)}.${db(name)}`
    await db`drop policy if exists ${db(`parley_${role}`)} on ${table}`
    await db`
      create policy ${db(`parley_${role}`)}
      on ${table}
      ${to}
      using (true)
      with check (true)`
  }
}
