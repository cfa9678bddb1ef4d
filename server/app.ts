import { limits } from '@parley/contract'
import type { Services } from './context.ts'
import type { Db } from './db/client.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { docs } from './http/docs.ts'
import { createEdge, type EdgeOptions } from './http/edge.ts'
import { createRates, type Rates } from './http/rates.ts'
import { type Calls, rest } from './http/rest.ts'
import { trpc } from './http/trpc.ts'
import { operations } from './operations.ts'

export type AppOptions = EdgeOptions & { db: Db; services: Services; adminKey: string | undefined; rates: Rates; hasDocsPage: boolean }

/** What operations need besides the database. The address is known once the server listens. */
export const createServices = ({ wsUrl, ...parts }: Pick<Services, 'tokens' | 'outbox'> & { wsUrl: () => string }): Services => ({
  ...parts,
  version: limits.apiVersion,
  get wsUrl() {
    return wsUrl()
  },
})

/** The HTTP face: every operation over REST and tRPC. */
export function buildApp({ db, services, adminKey, rates, hasDocsPage, ...options }: AppOptions) {
  const edge = {
    db,
    authenticate: createAuthenticate({ db, tokens: services.tokens, adminKey }),
    rates: createRates(rates),
    services,
  }
  const calls = Object.fromEntries(
    Object.entries(operations).map(([name, group]) => [
      name,
      Object.fromEntries(Object.entries(group).map(([name, implementation]) => [name, { op: implementation.op, call: createCall(edge, implementation) }])),
    ]),
  ) as Calls // the same groups and names
  const app = createEdge(options)
  rest(app, calls)
  trpc(app, calls)
  docs(app, { hasPage: hasDocsPage })
  return app
}
