import { type Limit, type Operation, pathParameters } from '@parley/contract'
import type { z } from 'zod'
import { type Caller, runOperation, type Services, type WriteContext } from '../core/context.ts'
import { ApiError, fail, RequiresFirstError } from '../core/errors.ts'
import type { Batch, Command, Implementation, Outcome } from '../core/operation.ts'
import type { Db } from '../db/client.ts'
import type { Authenticate, Credentials } from './authenticate.ts'
import { createGroupCommit } from './group-commit.ts'
import type { createRateLimits, Window } from './rate-limits.ts'

/** What a call needs to know of the request that carries it, and a way to answer with headers. */
export type Request = {
  credentials: Credentials
  ip: string
  setHeader: (name: string, value: string) => void
}
export type Edge = {
  db: Db
  authenticate: Authenticate
  rateLimits: ReturnType<typeof createRateLimits>
  services: Services
}
/** Input that could not be read is passed as the Failure to be answered when its turn comes. */
export type Call = (request: Request, input: unknown) => Promise<unknown>

/**
 * The one way into an operation, for REST, tRPC and batched tRPC alike: authenticate, count, parse, carry out. That is
 * also the order of refusals: 401, 429, 400, then what the operation itself refuses. All of it has one deadline.
 */
export function createCall(edge: Edge, implementation: Implementation): Call {
  const { op } = implementation
  const { limit = 'requests' } = op
  const carryOut = executor(edge, implementation)
  return async (request, raw) => {
    const until = edge.db.newDeadline()
    // Token requests are counted by address, those with a bad key too.
    const counted = limit === 'tokens' ? await edge.rateLimits.take(limit, request.ip) : undefined
    showWindow(request, counted)
    const caller = await edge.authenticate(op.auth, request.credentials, until)
    const window = counted ?? (await edge.rateLimits.take(limit, bucketOf(limit, caller, request)))
    showWindow(request, window)
    if (window?.isExceeded)
      return answerRepeat(edge, implementation, { caller, raw, window, until })
    const input = parse(op, raw) as never // by the schema that the implementation was typed with
    return carryOut({
      caller,
      input,
      until,
      onRepeat: async () => showWindow(request, await window?.giveBack()),
    })
  }
}

const bucketOf = (limit: Limit, caller: Caller, { ip }: Request) => {
  if (!('appId' in caller)) return ip
  return limit === 'messages' && 'userId' in caller
    ? `${caller.appId}:${caller.userId}`
    : caller.appId
}

function showWindow({ setHeader }: Request, window: Window | undefined) {
  if (!window) return
  setHeader('RateLimit-Limit', String(window.limit))
  setHeader('RateLimit-Remaining', String(window.remaining))
  setHeader('RateLimit-Reset', String(window.resetSeconds))
}

type Counted = { caller: Caller; raw: unknown; window: Window; until: number }

/** A call over the limit is refused, unless it only repeats one that was carried out. */
async function answerRepeat(
  { db, services }: Edge,
  implementation: Implementation,
  { caller, raw, window, until }: Counted,
) {
  const input =
    implementation.kind === 'batch' ? implementation.op.input.safeParse(raw).data : undefined
  const repeated =
    implementation.kind === 'batch' && input
      ? await db.use((db) => implementation.findRepeated({ db, caller, services }, input), until)
      : undefined
  if (repeated) return repeated
  throw new ApiError(
    'RATE_LIMITED',
    `Too many calls: at most ${window.limit} a minute`,
    window.resetSeconds,
  )
}

function parse(op: Operation, raw: unknown) {
  if (raw instanceof ApiError) throw raw
  const parsed = op.input.safeParse(raw)
  if (parsed.success) return parsed.data
  const ids = new Set(pathParameters(op.path).filter((name) => name.endsWith('Id')))
  const malformed = parsed.error.issues.filter(({ path: [first] }) => !ids.has(String(first)))
  // An id in the path that can not exist names nothing.
  return malformed.length === 0
    ? fail('NOT_FOUND', 'Not found')
    : fail('VALIDATION_ERROR', malformed.map(explain).join('; '))
}

const explain = ({ path, message }: z.core.$ZodIssue) =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`

type Accepted = { caller: Caller; input: never; until: number; onRepeat: () => Promise<void> }
type CarryOut = (accepted: Accepted) => Promise<unknown>

function executor({ db, services }: Edge, implementation: Implementation): CarryOut {
  if (implementation.kind === 'batch') return batchExecutor({ db, services }, implementation)
  return ({ caller, input, until }) => {
    if (implementation.kind === 'plain')
      return implementation.run({ caller, services, read: (work) => db.use(work, until) }, input)
    if (implementation.kind === 'read')
      return db.use((db) => implementation.run({ db, caller, services }, input), until)
    const attempt = () =>
      db.use(
        (db, signal) =>
          runOperation(db, { caller, services, signal }, (ctx) => implementation.run(ctx, input)),
        until,
      )
    return attempt().catch(async (error: unknown) => {
      if (!(error instanceof RequiresFirstError)) throw error
      await error.first(until)
      return attempt()
    })
  }
}

/** So many commands, waiting in one lane, are carried out in one transaction. */
const LARGEST_BATCH = 64

function batchExecutor(
  { db, services }: Pick<Edge, 'db' | 'services'>,
  { run, laneOf }: Batch<Operation>,
): CarryOut {
  const inOneTransaction = <T>(
    caller: Caller,
    work: (ctx: WriteContext) => Promise<T>,
    until: number,
  ) => db.use((db, signal) => runOperation(db, { caller, services, signal }, work), until)
  const attempt = createGroupCommit<Command<Operation>, Outcome>({
    most: LARGEST_BATCH,
    run: ([first, ...others], until) =>
      first
        ? inOneTransaction(first.caller, (ctx) => run(ctx, [first, ...others]), until)
        : Promise.resolve([]),
  })
  return async ({ caller, input, until, onRepeat }) => {
    const command = { caller, input }
    const lane = laneOf(command)
    let outcome = await attempt(lane, command, until)
    // More than once if others undo the step before the command's turn comes; the deadline ends it.
    while ('first' in outcome) {
      await inOneTransaction(caller, outcome.first, until)
      outcome = await attempt(lane, command, until)
    }
    if ('refusal' in outcome) throw outcome.refusal
    if (outcome.isRepeat) await onRepeat()
    return outcome.result
  }
}
