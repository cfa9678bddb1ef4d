import { parseArgs } from 'node:util'
import { createApi } from '@parley/client/api'
import { migrate } from '@parley/server/db/migrate'
import { fillBigApp } from '../support/big/fill.ts'
import { print, startNode } from './support.ts'

/**
 * `DATABASE_URL=… npm run seed:big -- --scale 0.1`: makes a large app. Scale 1 is a million users
 * and five million messages. `ana` is in a channel of very many members and in one that ends in
 * very many tombstones, `busy` is in very many channels.
 */
const { values } = parseArgs({ options: { scale: { type: 'string', default: '0.1' } } })
const databaseUrl = process.env.DATABASE_URL
if (!databaseUrl) throw new Error('DATABASE_URL is not set')

await migrate(databaseUrl)
const node = await startNode(databaseUrl)
const backend = createApi({ url: node.url, apiKey: node.app.apiKey })
for (const userId of ['ben', 'busy']) await backend.tokens.create({ userId })
const scale = Number(values.scale)
const { large, tombstones, counts } = await fillBigApp(databaseUrl, { appId: node.app.id, scale })
print('a large app', {
  'API key': node.app.apiKey,
  'channel of many members': large,
  'channel of tombstones': tombstones,
})
print('of the size', counts)
await node.stop()
