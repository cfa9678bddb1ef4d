import { buildApp } from '@parley/server/app'
import { createRelay } from '@parley/server/core/event-bus'
import { createOutbox } from '@parley/server/core/jobs'
import { createMetrics } from '@parley/server/core/metrics'
import { createTokens } from '@parley/server/core/tokens'
import { connect } from '@parley/server/db/client'
import { createCleanup } from '@parley/server/jobs/cleanup'
import { createProviderPreferences } from '@parley/server/jobs/push/preferences'
import { ADMIN_KEY, SECRET } from '../support/secrets.ts'

/** A node in a process of its own. Its fault point `between commit and publish` kills it with -9 once it is armed. */
const databaseUrl = process.argv[2] ?? ''
let isArmed = false
process.on('message', () => (isArmed = true))

const db = connect({ url: databaseUrl, poolSize: 4, applicationName: 'parley-test-node' })
const relay = createRelay()
const outlet: typeof relay.outlet = {
  ...relay.outlet,
  publish: (events) => {
    if (isArmed) process.kill(process.pid, 'SIGKILL')
    relay.outlet.publish(events)
  },
}
const app = buildApp({
  db,
  databaseUrl,
  relay: { ...relay, outlet },
  cleanup: createCleanup({ db, outlet, onError: console.error }),
  tokens: await createTokens([SECRET]),
  metrics: createMetrics(),
  outbox: createOutbox([]),
  providerPreferences: createProviderPreferences(undefined),
  adminKey: ADMIN_KEY,
  userAdminAccess: 'bearer',
  rates: { tokens: 0, messages: 0, requests: 0 },
  presenceGraceSeconds: 15,
  publicUrl: () => 'http://test',
  wsUrl: () => 'ws://test',
  allowedOrigins: [],
  trustProxy: false,
  hasDocsPage: false,
  logLevel: 'error',
})
process.send?.(await app.listen({ port: 0, host: '127.0.0.1' }))
