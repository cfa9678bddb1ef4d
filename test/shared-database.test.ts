import { observeDatabase } from '@parley/server/core/database-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import { connectOnce, createDb } from '@parley/server/db/client'
import { withSchema } from '@parley/server/db/schema-name'
import { createQueuePool } from '@parley/server/jobs/queue-pool'
import { expect, onTestFinished, test } from 'vitest'
import { createSharedDatabase } from './support/roles.ts'
import { unhurried } from './support/until.ts'

test('services that share a database and a role count their own connections only', async () => {
  const shared = await createSharedDatabase()
  onTestFinished(shared.drop)
  // The names of connections of the longest schema are cut.
  const [small, long] = ['chat', `chat_${'x'.repeat(45)}`]
  /** The connections of a service, beside those of `held`. */
  const serve = async (schema: string | undefined, held: number) => {
    const url = schema === undefined ? shared.url : withSchema(shared.url, schema)
    const connections = Array.from({ length: held }, () =>
      connectOnce(url, { applicationName: 'parley-migrations' }),
    )
    await Promise.all(connections.map((sql) => sql`select 1`))
    const queue = createQueuePool(url, { onConnectionLost: () => {} })
    await queue.pgPool.query('select 1')
    const db = createDb({ url, poolSize: 1, applicationName: 'parley', patience: unhurried })
    // Otherwise, its connection may be opened before or after the others are counted.
    await db.ping()
    onTestFinished(async () => {
      await Promise.all([...connections.map((sql) => sql.end()), queue.close()])
      await db.end({ timeout: 1 })
    })
    const metrics = createMetrics()
    const update = observeDatabase(metrics, { db, poolSize: 1, isReporter: async () => true })
    return async () => {
      await update()
      const gauge = metrics.registry.getSingleMetric('parley_database_connections')
      const { values } = (await gauge?.get()) ?? { values: [] }
      return values.reduce((sum, { value }) => sum + value, 0)
    }
  }
  const counts = [await serve(undefined, 20), await serve(small, 7), await serve(long, 13)]
  const counted = []
  for (const count of counts) counted.push(await count())
  // Each has three more: of the queue, of the count, and of the check that the database is up.
  expect(counted).toEqual([23, 10, 16])
})
