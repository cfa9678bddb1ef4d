import { formatIssues, type Limit, type Operation, pathParameters } from '@parley/contract'
import { type Caller, runOperation, type Services, type WriteContext } from '../core/context.ts'
import { ApiError, fail } from '../core/errors.ts'
import {
  type Batch,
  type Command,
  type Implementation,
  type Outcome,
  RequiresFirstError,
} from '../core/operation.ts'
import { type Db, newDeadline } from '../db/client.ts'
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
  const run = createRunner(edge, implementation)
  return async (request, raw) => {
    const until = newDeadline()
    // Token requests are counted by address, those with a bad key too.
    const counted = limit === 'tokens' ? await edge.rateLimits.take(limit, request.ip) : undefined
    showWindow(request, counted)
    const caller = await edge.authenticate(op.auth, request.credentials, until)
    const window = counted ?? (await edge.rateLimits.take(limit, bucketOf(limit, caller, request)))
    showWindow(request, window)
    if (window?.isExceeded)
      return answerRepeat(edge, implementation, { caller, raw, window, until })
    const input = parse(op, raw) as never // by the schema that the implementation was typed with
    return run({
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
    : fail('VALIDATION_ERROR', formatIssues(malformed))
}

type AcceptedCall = { caller: Caller; input: never; until: number; onRepeat: () => Promise<void> }
type Runner = (accepted: AcceptedCall) => Promise<unknown>

function createRunner({ db, services }: Edge, implementation: Implementation): Runner {
  const inTransaction: InTransaction = ({ caller, until }, work) =>
    db.use((db, signal) => runOperation(db, { caller, services, signal }, work), until)
  switch (implementation.kind) {
    case 'connectionless':
      return ({ caller, input, until }) =>
        implementation.run({ caller, services, read: (work) => db.use(work, until) }, input)
    case 'read':
      return ({ caller, input, until }) =>
        db.use((db) => implementation.run({ db, caller, services }, input), until)
    case 'write':
      return withFirstSteps(inTransaction, (call) =>
        inTransaction(call, (ctx) => implementation.run(ctx, call.input)),
      )
    case 'batch':
      return withFirstSteps(inTransaction, createBatchRunner(inTransaction, implementation))
  }
}

type InTransaction = <T>(
  call: Pick<AcceptedCall, 'caller' | 'until'>,
  work: (ctx: WriteContext) => Promise<T>,
) => Promise<T>

/**
 * Takes the step that an operation requires first, then tries the operation again: more than once
 * if others undo the step meanwhile. Attempts and steps fail after the deadline, which ends this.
 */
function withFirstSteps(inTransaction: InTransaction, run: Runner): Runner {
  return async (call) => {
    for (;;) {
      try {
        return await run(call)
      } catch (error) {
        if (!(error instanceof RequiresFirstError)) throw error
        const { until } = call
        await error.step({ inTransaction: (work) => inTransaction(call, work), until })
      }
    }
  }
}

/** The most commands that share one transaction. */
const LARGEST_BATCH = 64

function createBatchRunner(
  inTransaction: InTransaction,
  { run, groupKeyOf }: Batch<Operation>,
): Runner {
  const attempt = createGroupCommit<Command<Operation>, Outcome>({
    most: LARGEST_BATCH,
    run: async (commands, until) => {
      const [first] = commands
      if (!first) return []
      return inTransaction({ caller: first.caller, until }, (ctx) => run(ctx, commands))
    },
  })
  return async ({ caller, input, until, onRepeat }) => {
    const command = { caller, input }
    const outcome = await attempt(groupKeyOf(command), command, until)
    if ('error' in outcome) throw outcome.error
    if (outcome.isRepeat) await onRepeat()
    return outcome.result
  }
}
