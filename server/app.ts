import { limits } from '@parley/contract'
import { createActivity } from './activity.ts'
import type { Services } from './context.ts'
import type { Db } from './db/client.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { docs } from './http/docs.ts'
import { createEdge, type EdgeOptions } from './http/edge.ts'
import { createRates, type Rates } from './http/rates.ts'
import { type Calls, rest } from './http/rest.ts'
import { timed } from './http/timed.ts'
import { trpc } from './http/trpc.ts'
import type { Metrics } from './metrics.ts'
import { operations } from './operations.ts'
import { createRevocations } from './revocations.ts'

export type AppOptions = EdgeOptions &
  Pick<Services, 'tokens' | 'userAdminAccess' | 'cleanup' | 'outbox' | 'providerPreferences'> & {
    db: Db
    metrics: Metrics
    adminKey: string | undefined
    rates: Rates
    hasDocsPage: boolean
    publicUrl: () => string
    wsUrl: () => string
  }

/** The HTTP face: every operation over REST and tRPC. */
export function buildApp({
  db,
  metrics,
  tokens,
  adminKey,
  userAdminAccess,
  cleanup,
  outbox,
  providerPreferences,
  rates,
  publicUrl,
  wsUrl,
  hasDocsPage,
  ...options
}: AppOptions) {
  const revocations = createRevocations()
  const activity = createActivity(db)
  const edge = {
    db,
    authenticate: createAuthenticate({ db, tokens, adminKey, revocations }),
    rates: createRates(rates),
    services: {
      tokens,
      version: limits.apiVersion,
      userAdminAccess,
      revocations,
      activity,
      cleanup,
      outbox,
      providerPreferences,
      // Both are known once the server listens.
      get publicUrl() {
        return publicUrl()
      },
      get wsUrl() {
        return wsUrl()
      },
    },
  }
  const calls = Object.fromEntries(
    Object.entries(operations).map(([noun, group]) => [
      noun,
      Object.fromEntries(
        Object.entries(group).map(([verb, implementation]) => [
          verb,
          { op: implementation.op, call: timed(metrics, { operation: `${noun}.${verb}`, call: createCall(edge, implementation) }) },
        ]),
      ),
    ]),
  ) as Calls // the same groups and names
  const app = createEdge(options)
  rest(app, calls)
  trpc(app, calls)
  docs(app, { hasPage: hasDocsPage })
  app.addHook('onClose', () => activity.flush().catch(() => {})) // without a database there is nothing to write to
  return app
}
