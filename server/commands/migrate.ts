import { readConfig } from '../config/index.ts'
import { inspect } from '../db/migrate.ts'
import { migrateQueue } from '../jobs/queue.ts'
import { grantAgain } from './grants.ts'
import { migrateWhenReady, QUEUE_MIGRATIONS, whenDatabaseIsReady, withDatabase } from './open.ts'

/** `parley migrate`: brings the schema up to date, and says what it did. */
export async function migrateDatabase() {
  const config = readConfig()
  await withDatabase(config, async (url) => {
    const applied = await migrateWhenReady(url, config)
    const { isQueueBehind } = await whenDatabaseIsReady(() => inspect(url), config)
    await whenDatabaseIsReady(() => migrateQueue(url), config)
    await whenDatabaseIsReady(() => grantAgain(url), config)
    if (isQueueBehind) applied.push(QUEUE_MIGRATIONS)
    for (const name of applied) console.log(`Applied ${name}`)
    console.log(applied.length === 0 ? 'The schema was up to date' : 'The schema is up to date')
  })
}
