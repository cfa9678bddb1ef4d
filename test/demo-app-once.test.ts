import { ensureDemoApp } from '@parley/server/commands/demo-app'
import { newApiKey } from '@parley/server/core/api-keys'
import { createDb } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('two nodes that start at once add one demo app', async () => {
  const nodes = [1, 2].map(() =>
    createDb({ url: world().databaseUrl, poolSize: 1, applicationName: 'parley-test' }),
  )
  onTestFinished(async () => void (await Promise.all(nodes.map((db) => db.end({ timeout: 1 })))))
  const apiKey = newApiKey()
  const added = nodes.map((db) => ensureDemoApp(db, { apiKey, isAsked: true }))
  expect(await Promise.all(added)).toEqual([true, true])
  const { apps } = await world().operator.apps.list()
  expect(apps.filter(({ name }) => name === 'Demo')).toHaveLength(1)
})
