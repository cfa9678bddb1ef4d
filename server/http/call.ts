import { type Limit, type Operation, pathParameters } from '@parley/contract'
import type { z } from 'zod'
import { type Caller, readCtx, type Services, transact } from '../context.ts'
import type { Db } from '../db/client.ts'
import { Failure, fail } from '../failure.ts'
import type { Implementation, Outcome } from '../implement.ts'
import type { Authenticate, Credentials } from './authenticate.ts'
import type { createRates, Window } from './rates.ts'

/** What a call needs to know of the request that carries it, and a way to answer with headers. */
export type Request = { credentials: Credentials; ip: string; setHeader: (name: string, value: string) => void }
export type Edge = { db: Db; authenticate: Authenticate; rates: ReturnType<typeof createRates>; services: Services }
export type Call = (request: Request, input: unknown) => Promise<unknown>

/** Whatever the database does, a caller is answered within 5 s. */
const DEADLINE_MS = 4_500

/**
 * The one way into an operation, for REST, tRPC and batched tRPC alike: authenticate, count, parse, carry out. That is
 * also the order of refusals: 401, 429, 400, then what the operation itself refuses.
 */
export const createCall =
  (edge: Edge, implementation: Implementation): Call =>
  async (request, raw) => {
    const { op } = implementation
    const { limit = 'requests' } = op
    // Token requests are counted by address, those with a bad key too.
    const counted = limit === 'tokens' ? await edge.rates.take(limit, request.ip) : undefined
    showWindow(request, counted)
    return withDeadline(async (signal) => {
      const caller = await edge.authenticate(op.auth, request.credentials)
      const key = bucketOf(limit, caller, request)
      const window = counted ?? (await edge.rates.take(limit, key))
      showWindow(request, window)
      if (window?.isExceeded) return answerRepeat(edge, implementation, { caller, raw, window })
      const input = parse(op, raw)
      return carryOut(edge, implementation, { caller, input, signal, refund: async () => showWindow(request, await edge.rates.giveBack(limit, key)) })
    })
  }

const bucketOf = (limit: Limit, caller: Caller, { ip }: Request) => {
  if (limit === 'tokens' || !('appId' in caller)) return ip
  return limit === 'messages' && 'userId' in caller ? `${caller.appId}:${caller.userId}` : caller.appId
}

function showWindow({ setHeader }: Request, window: Window | undefined) {
  if (!window) return
  setHeader('RateLimit-Limit', String(window.limit))
  setHeader('RateLimit-Remaining', String(window.remaining))
  setHeader('RateLimit-Reset', String(window.resetSeconds))
}

/** A call over the limit is refused, unless it only repeats one that was carried out. */
async function answerRepeat({ db, services }: Edge, implementation: Implementation, { caller, raw, window }: { caller: Caller; raw: unknown; window: Window }) {
  const input = implementation.kind === 'batch' ? implementation.op.input.safeParse(raw).data : undefined
  const repeated = implementation.kind === 'batch' && input ? await implementation.findRepeated(readCtx(db, { caller, services }), input) : undefined
  if (repeated) return repeated
  throw new Failure('RATE_LIMITED', `Too many calls: at most ${window.limit} a minute`, window.resetSeconds)
}

function parse(op: Operation, raw: unknown) {
  const parsed = op.input.safeParse(raw)
  if (parsed.success) return parsed.data
  const ids = new Set(pathParameters(op.path).filter((name) => name.endsWith('Id')))
  const malformed = parsed.error.issues.filter(({ path: [first] }) => !ids.has(String(first)))
  // An id in the path that can not exist names nothing.
  return malformed.length === 0 ? fail('NOT_FOUND', 'Not found') : fail('VALIDATION_ERROR', malformed.map(explain).join('; '))
}

const explain = ({ path, message }: z.core.$ZodIssue) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)

type Accepted = { caller: Caller; input: never; signal: AbortSignal; refund: () => Promise<void> }

async function carryOut({ db, services }: Edge, implementation: Implementation, accepted: { caller: Caller; input: unknown } & Omit<Accepted, 'input'>) {
  const { caller, signal, refund } = accepted
  const input = accepted.input as never // parsed by the schema that the implementation was typed with
  if (implementation.kind === 'read') return implementation.run(readCtx(db, { caller, services }), input)
  if (implementation.kind === 'write') return transact(db, { caller, services, signal }, (ctx) => implementation.run(ctx, input))

  const attempt = async (): Promise<Outcome | undefined> =>
    (await transact(db, { caller, services, signal }, (ctx) => implementation.run(ctx, [{ caller, input }])))[0]
  let outcome = await attempt()
  if (outcome && 'first' in outcome) {
    const { first } = outcome
    await transact(db, { caller, services, signal }, (ctx) => first(ctx))
    outcome = await attempt()
  }
  if (!outcome || 'first' in outcome) throw new Error('an outcome asked twice for its first step')
  if ('refusal' in outcome) throw outcome.refusal
  if (outcome.isRepeat) await refund()
  return outcome.result
}

async function withDeadline<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const failure = new Failure('UNAVAILABLE', 'The database did not answer in time', 1)
      late.abort(failure)
      reject(failure)
    }, DEADLINE_MS)
  })
  try {
    return await Promise.race([work(late.signal), deadline])
  } finally {
    clearTimeout(timer)
  }
}
