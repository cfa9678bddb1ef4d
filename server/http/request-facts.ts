import type { IncomingMessage } from 'node:http'
import type { Caller } from '../core/context.ts'

/** What is found out about a request while it is served, for its line in the log. */
export type RequestFacts = {
  /** Several in a tRPC batch, of one caller. */
  operations: string[]
  appId?: string
  userId?: string
  /** Of the last error. */
  code?: string
}

const known = new WeakMap<IncomingMessage, RequestFacts>()

export function factsOf(request: IncomingMessage): RequestFacts {
  const facts = known.get(request) ?? { operations: [] }
  known.set(request, facts)
  return facts
}

export function noteCaller(facts: RequestFacts, caller: Caller) {
  if ('appId' in caller) facts.appId = caller.appId
  if ('userId' in caller && caller.userId !== null) facts.userId = caller.userId
}
