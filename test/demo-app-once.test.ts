import { ensureDemoApp } from '@parley/server/commands/demo-app'
import { newApiKey } from '@parley/server/core/api-keys'
import { createDb } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { withRecordedDatabase } from './support/recorded-database.ts'
import { unhurried } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('two nodes that start at once add one demo app', async () => {
  const apiKey = newApiKey()
  const added = await withRecordedDatabase(world().databaseUrl, async (url) => {
    const options = { url, poolSize: 1, applicationName: 'parley-test', patience: unhurried }
    const nodes = [1, 2].map(() => createDb(options))
    try {
      return await Promise.all(nodes.map((db) => ensureDemoApp(db, { apiKey, isAsked: true })))
    } finally {
      await Promise.all(nodes.map((db) => db.end({ timeout: 1 })))
    }
  })
  expect(added).toEqual([true, true])
  const { apps } = await world().operator.apps.list()
  expect(apps.filter(({ name }) => name === 'Demo')).toHaveLength(1)
})
