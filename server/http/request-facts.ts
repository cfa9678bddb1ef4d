import type { IncomingMessage } from 'node:http'
import type { Caller } from '../core/context.ts'
import { activeSpan } from '../core/spans.ts'
import { traceOf } from '../core/trace.ts'

/** What the log line of a request says about it, collected while it is served. */
export type RequestFacts = {
  /** Several in a tRPC batch, all of one caller. */
  operations: string[]
  /** The id of its trace. */
  trace: string
  /** As the log and `X-Request-Id` show it. */
  requestId?: string
  appId?: string
  userId?: string
  /** Of the last error. */
  code?: string
  /** How many parts of an answered call were refused. */
  refused?: number
  /** Whether the audit log has an entry with this request's id. */
  isAudited?: boolean
}

const known = new WeakMap<IncomingMessage, RequestFacts>()

export function factsOf(request: IncomingMessage): RequestFacts {
  const facts = known.get(request) ?? {
    operations: [],
    trace: traceOf(request.headers.traceparent),
  }
  known.set(request, facts)
  return facts
}

/** Notes that a part of the call was refused. */
export function noteRefused(facts: RequestFacts, code: string) {
  facts.code = code
  facts.refused = (facts.refused ?? 0) + 1
}

/** Notes the caller, and the trace to which the effects of the call belong. */
export function noteCaller(facts: RequestFacts, caller: Caller) {
  if ('appId' in caller) {
    facts.appId = caller.appId
    caller.trace = activeSpan()?.place ?? facts.trace
  }
  if (facts.requestId !== undefined) caller.requestId = facts.requestId
  caller.onNoted = () => {
    facts.isAudited = true
  }
  if ('userId' in caller && caller.userId !== null) facts.userId = caller.userId
}
