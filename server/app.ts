import { randomUUID } from 'node:crypto'
import { limits } from '@parley/contract'
import { createActivity } from './activity.ts'
import type { Outlet } from './context.ts'
import { type Db, isDatabaseTrouble } from './db/client.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { docs } from './http/docs.ts'
import { isAllowedOrigin } from './http/cors.ts'
import { createEdge, type EdgeOptions } from './http/edge.ts'
import { createRates, type Rates } from './http/rates.ts'
import { type Calls, rest } from './http/rest.ts'
import { trpc } from './http/trpc.ts'
import { operations } from './operations.ts'
import { createAdmission, serveEndpoint, serveWebSockets } from './realtime/endpoint.ts'
import { listen } from './realtime/feed.ts'
import { createPostgresBroker } from './realtime/postgres-broker.ts'
import { createRealtime } from './realtime/realtime.ts'
import type { Timings } from './realtime/timings.ts'
import { createRevocations } from './revocations.ts'
import type { Tokens } from './tokens.ts'

export type AppOptions = EdgeOptions & { db: Db; tokens: Tokens; adminKey: string | undefined; rates: Rates; hasDocsPage: boolean; wsUrl: () => string } & {
    /** Where nodes meet: the same database as `db`. */
    databaseUrl: string
    presenceGraceSeconds: number
    timings?: Partial<Timings>
    faults?: Faults
    /** Told the way to this node's real time: for benchmarks, which publish without writing. */
    onOutlet?: (outlet: Outlet) => void
  }

/** Named points at which tests break the server; nothing sets them elsewhere. */
export type Faults = { betweenCommitAndPublish?: () => void }

/** The HTTP face: every operation over REST and tRPC. */
export function buildApp({ db, tokens, adminKey, rates, wsUrl, hasDocsPage, databaseUrl, presenceGraceSeconds, timings, faults, onOutlet, ...options }: AppOptions) {
  const app = createEdge(options)
  const revocations = createRevocations()
  const activity = createActivity(db)
  // Trouble of the database passes; anything else is a fault of ours.
  const report = (error: unknown, problem: string) => (isDatabaseTrouble(error) ? app.log.warn(problem) : app.log.error({ err: error }, problem))
  const nodeId = randomUUID()
  const broker = createPostgresBroker({ url: databaseUrl, nodeId, report })
  const realtime = createRealtime({ db, tokens, broker, nodeId, presenceGraceSeconds, timings, report, revocations, activity })
  onOutlet?.(realtime.outlet)
  const edge = {
    db,
    authenticate: createAuthenticate({ db, tokens, adminKey, revocations }),
    rates: createRates(rates),
    services: {
      tokens,
      version: limits.apiVersion,
      revocations,
      activity,
      outlet: withFaults(realtime.outlet, faults),
      // Known once the server listens.
      get wsUrl() {
        return wsUrl()
      },
    },
  }
  const calls = Object.fromEntries(
    Object.entries(operations).map(([name, group]) => [
      name,
      Object.fromEntries(Object.entries(group).map(([name, implementation]) => [name, { op: implementation.op, call: createCall(edge, implementation) }])),
    ]),
  ) as Calls // the same groups and names
  serveWebSockets(app, { close: realtime.closeSessions })
  const admitSocket = createAdmission({ isAllowedOrigin: (origin) => isAllowedOrigin(options.allowedOrigins, origin), isClosing: realtime.isClosing })
  serveEndpoint(app, { endpoint: realtime.endpoint, admitSocket })
  app.addHook('onReady', realtime.start)
  app.addHook('onClose', async () => {
    await realtime.stop()
    await activity.flush().catch(() => {}) // without a database there is nothing to write to
  })
  rest(app, calls)
  trpc(app, calls, { listen: (wanted) => listen(realtime.endpoint, wanted), admitSocket })
  docs(app, { hasPage: hasDocsPage })
  return app
}

const withFaults = (outlet: Outlet, { betweenCommitAndPublish }: Faults = {}): Outlet =>
  betweenCommitAndPublish ? { ...outlet, publish: (events) => (betweenCommitAndPublish(), outlet.publish(events)) } : outlet
