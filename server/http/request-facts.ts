import type { IncomingMessage } from 'node:http'
import type { Caller } from '../core/context.ts'
import type { ApiError } from '../core/errors.ts'
import { activeSpan } from '../core/spans.ts'
import { traceOf } from '../core/trace.ts'

/** Facts for the log line of a request, collected while it is served. */
export type RequestFacts = {
  /** Several in a tRPC batch, all of one caller. */
  operations: string[]
  /** The id of its trace. */
  trace: string
  /** As the log and `X-Request-Id` show it. */
  requestId?: string
  appId?: string
  /** The apps that the operator acts on: several in a tRPC batch. */
  targetApps?: Set<string>
  userId?: string
  /** The code of the last error. */
  code?: string
  /** The reason of that error, in the service's words. */
  reason?: string | undefined
  /** The origin of a page that may not call, cut to what a line has room for. */
  origin?: string
  /** How many parts of an answered call were refused. */
  refused?: number
  /** Whether the audit log has an entry with this request's id. */
  isAudited?: boolean
}

/** On the request itself: a weak map would be cleaned by every garbage collection. */
const FACTS = Symbol('facts')

export function factsOf(request: IncomingMessage & { [FACTS]?: RequestFacts }): RequestFacts {
  request[FACTS] ??= { operations: [], trace: traceOf(request.headers.traceparent) }
  return request[FACTS]
}

const MOST_ORIGIN = 200
/** As much of a reason as a line has room for: it may name a user by a long id. */
const MOST_REASON = 200

/** Notes why the call failed. */
export function noteError(facts: RequestFacts, { code, reason }: ApiError) {
  facts.code = code
  facts.reason = reason?.slice(0, MOST_REASON)
}

/** Notes the page that was refused: its own console is all else that would say so. */
export function noteForeignOrigin(facts: RequestFacts, origin = '') {
  facts.code = 'FORBIDDEN'
  facts.origin = origin.slice(0, MOST_ORIGIN)
}

/** Notes that a part of the call was refused. */
export function noteRefused(facts: RequestFacts, error: ApiError) {
  noteError(facts, error)
  facts.refused = (facts.refused ?? 0) + 1
}

/** Notes the app that the operator acts on, if the input of a call, or what it did, names one. */
export function noteTarget(facts: RequestFacts, named: { appId?: string | undefined }) {
  if (named.appId === undefined) return
  facts.targetApps ??= new Set()
  facts.targetApps.add(named.appId)
}

/** Called with the app and user that credentials name, before they are accepted or refused. */
export type OnNamed = (named: { appId: string; userId?: string }) => void

/** Notes whom the credentials of a call name, so that its line says so even if it is refused. */
export const nameCaller =
  (facts: RequestFacts): OnNamed =>
  ({ appId, userId }) => {
    facts.appId = appId
    if (userId !== undefined) facts.userId = userId
  }

/** Notes the trace to which the effects of the call belong. */
export function noteCaller(facts: RequestFacts, caller: Caller) {
  if ('appId' in caller) caller.trace = activeSpan()?.traceContext ?? facts.trace
  if (facts.requestId !== undefined) caller.requestId = facts.requestId
  caller.onNoted = (appId) => {
    facts.isAudited = true
    if (!('appId' in caller)) noteTarget(facts, { appId })
  }
}
