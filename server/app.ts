import { limits } from '@parley/contract'
import type { Db } from './db/client.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { createCall } from './http/call.ts'
import { docs } from './http/docs.ts'
import { createEdge, type EdgeOptions } from './http/edge.ts'
import { createRates, type Rates } from './http/rates.ts'
import { type Calls, rest } from './http/rest.ts'
import { trpc } from './http/trpc.ts'
import { operations } from './operations.ts'
import type { Tokens } from './tokens.ts'

export type AppOptions = EdgeOptions & { db: Db; tokens: Tokens; adminKey: string | undefined; rates: Rates; hasDocsPage: boolean; wsUrl: () => string }

/** The HTTP face: every operation over REST and tRPC. */
export function buildApp({ db, tokens, adminKey, rates, wsUrl, hasDocsPage, ...options }: AppOptions) {
  const edge = {
    db,
    authenticate: createAuthenticate({ db, tokens, adminKey }),
    rates: createRates(rates),
    services: {
      tokens,
      version: limits.apiVersion,
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
  const app = createEdge(options)
  rest(app, calls)
  trpc(app, calls)
  docs(app, { hasPage: hasDocsPage })
  return app
}
