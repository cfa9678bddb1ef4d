import { formatIssues, type Limit, limits, type Operation, pathParameters } from '@parley/contract'
import type { AdmissionRequest, Admit } from '../core/admission.ts'
import {
  type Caller,
  type Cause,
  causeOf,
  hasKey,
  runOperation,
  type Services,
  type UserCaller,
  type WriteContext,
} from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import type { Metrics } from '../core/metrics.ts'
import {
  type Batch,
  type Command,
  type Implementation,
  type Outcome,
  RequiresFirstError,
} from '../core/operation.ts'
import { userKey } from '../core/user-ref.ts'
import type { Db, DbConnection } from '../db/client.ts'
import { tokens } from '../features/tokens.ts'
import type { createActingUsers } from './acting-users.ts'
import type { Authenticate, Credentials } from './authenticate.ts'
import { createGroupCommit } from './group-commit.ts'
import type { createRateLimits, RateLimitWindow } from './rate-limits.ts'
import { noteCaller, type RequestFacts } from './request-facts.ts'

/** What a call needs of its request, over any protocol, and a way to set response headers. */
export type CallRequest = {
  credentials: Credentials
  setHeader: (name: string, value: string) => void
  /** For the log. */
  facts: RequestFacts
  /** Aborts if the caller goes away before the answer. */
  gone: () => AbortSignal
}
export type CallDependencies = {
  db: Db
  admit: Admit
  authenticate: Authenticate
  actAs: ReturnType<typeof createActingUsers>
  rateLimits: ReturnType<typeof createRateLimits>
  services: Services
  metrics: Pick<Metrics, 'callsRefused'>
}
/** Input that could not be read is given as an ApiError, to be thrown when the input is parsed. */
export type Call = (request: CallRequest, input: unknown) => Promise<unknown>

/**
 * The only way into an operation, for REST, tRPC and batched tRPC: authenticate, count, parse, run.
 * Errors come in the same order: 401, 429, 400, then those of the operation. Before them come those
 * of a request that cannot be read: 413, bad percent-encoding, tRPC input that is not JSON. One
 * deadline covers all of the call.
 */
export function createCall(dependencies: CallDependencies, implementation: Implementation): Call {
  const { db, authenticate, actAs, rateLimits } = dependencies
  const { op } = implementation
  const run = createRunner(dependencies, implementation)
  const createUser = createRunner(dependencies, tokens.create as never) // called with its own input
  return async (request, raw) => {
    const until = db.newDeadline()
    const { gone } = request
    const caller = await authenticate(op.auth, request.credentials, until)
    noteCaller(request.facts, caller)
    const limit = limitOf(op, caller)
    const key = rateLimitKey(limit, caller, request.credentials.ip)
    const own = await rateLimits.take(limit, key)
    const isOfApp = limit !== 'none' && 'appId' in caller
    const window = isOfApp ? await rateLimits.takeForApp(caller.appId, own) : own
    setRateLimitHeaders(request, window)
    if (window?.isExceeded)
      return answerRepeat(dependencies, implementation, { caller, raw, key, window, until, gone })
    const input = parse(op, raw) as never // by the schema that the implementation was typed with
    const onRepeat = async () => setRateLimitHeaders(request, window?.giveBack())
    const accepted = { caller, input, until, gone, onRepeat }
    if (!isActing(caller)) return run(accepted)
    const { appId, keyHash, userId } = caller
    const create = () =>
      createUser({ ...accepted, caller: { appId, keyHash }, input: { userId } as never })
    return actAs({ caller, until, create }, () => run(accepted))
  }
}

/** A backend's sends count like its other calls. */
const limitOf = ({ limit = 'requests' }: Operation, caller: Caller): Limit =>
  limit === 'messages' && hasKey(caller) ? 'requests' : limit

const isActing = (caller: Caller): caller is ActingCaller =>
  hasKey(caller) && 'userId' in caller && caller.userId !== null
type ActingCaller = UserCaller & { keyHash: string }

/** Users are counted one by one, and so are API keys; those of token requests by address. */
function rateLimitKey(limit: Limit, caller: Caller, ip: string) {
  if (!('appId' in caller)) return ip
  if (!hasKey(caller)) return userKey(caller)
  return limit === 'tokens' ? `${caller.keyHash}:${ip}` : caller.keyHash
}

function setRateLimitHeaders({ setHeader }: CallRequest, window: RateLimitWindow | undefined) {
  if (!window) return
  setHeader('RateLimit-Limit', String(window.limit))
  setHeader('RateLimit-Remaining', String(window.remaining))
  setHeader('RateLimit-Reset', String(window.resetSeconds))
}

type LimitedCall = {
  caller: Caller
  raw: unknown
  key: string
  window: RateLimitWindow
  until: number
  gone: CallRequest['gone']
}

/** Refuses a call over the limit, unless it repeats one that has already succeeded. */
async function answerRepeat(
  { db, admit, services, rateLimits }: CallDependencies,
  implementation: Implementation,
  { caller, raw, key, window, until, gone }: LimitedCall,
) {
  if (implementation.kind === 'batch' && rateLimits.mayLookUp(key)) {
    const { findRepeated, op } = implementation
    const { data } = op.input.safeParse(raw)
    const find = () => db.use((db) => findRepeated({ db, caller, services }, data as never), until)
    const repeated = data && (await admit(admissionRequestOf({ caller, until, gone }), find))
    if (repeated) return repeated
  }
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
  // An invalid id in the path cannot name anything: that is NOT_FOUND rather than a bad request.
  const ids = new Set(pathParameters(op.path).filter((name) => name.endsWith('Id')))
  const malformed = parsed.error.issues.filter(({ path: [first] }) => !ids.has(String(first)))
  if (malformed.length === 0) throw new ApiError('NOT_FOUND', 'Not found')
  throw new ApiError('VALIDATION_ERROR', formatIssues(malformed))
}

/** A call as admission knows it. A call without an app is the operator's. */
function admissionRequestOf({ caller, until, gone, isShared }: RunningCall): AdmissionRequest {
  if (!('appId' in caller)) return { appId: 'operator', lane: 'calls', until, gone }
  const { appId } = caller
  if (isShared) return { appId, lane: 'sends', until }
  if ('userId' in caller && caller.userId !== null && !hasKey(caller))
    return { appId, userId: caller.userId, until, gone }
  return { appId, lane: 'calls', until, gone }
}

type RunningCall = {
  caller: Caller
  until: number
  gone?: CallRequest['gone']
  /** It is a batch of several callers of the app. */
  isShared?: boolean
}

type AcceptedCall = Omit<RunningCall, 'isShared'> & {
  input: never
  onRepeat: () => Promise<void>
}
type Runner = (accepted: AcceptedCall) => Promise<unknown>

function createRunner(
  { db, admit, services, metrics }: CallDependencies,
  implementation: Implementation,
): Runner {
  const use = <T>(call: RunningCall, work: (db: DbConnection, signal: AbortSignal) => Promise<T>) =>
    admit(admissionRequestOf(call), () => db.use(work, call.until))
  const inTransaction: InTransaction = ({ readsFirst = false, cause, ...call }, work) => {
    const { caller } = call
    return use(call, (db, signal) =>
      runOperation(
        db,
        { caller, services, signal, readsFirst, cause: cause ?? causeOf(caller) },
        work,
      ),
    )
  }
  switch (implementation.kind) {
    case 'connectionless':
      return ({ input, ...call }) =>
        implementation.run(
          { caller: call.caller, services, read: (work) => use(call, work) },
          input,
        )
    case 'read':
      return ({ input, ...call }) =>
        use(call, (db) => implementation.run({ db, caller: call.caller, services }, input))
    case 'write':
      return withFirstSteps(inTransaction, (call) =>
        inTransaction(call, (ctx) => implementation.run(ctx, call.input)),
      )
    case 'batch': {
      const runBatch = withFirstSteps(
        inTransaction,
        createBatchRunner({ inTransaction, metrics }, implementation),
      )
      const { prepare } = implementation
      if (!prepare) return runBatch
      return async ({ input, ...call }) => {
        const { caller } = call
        const prepared = await prepare({ caller, services, read: (work) => use(call, work) }, input)
        if ('input' in prepared) return runBatch({ ...call, input: prepared.input as never })
        await call.onRepeat()
        return prepared.repeated
      }
    }
  }
}

type InTransaction = <T>(
  call: RunningCall & { readsFirst?: boolean; cause?: Cause },
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

function createBatchRunner(
  { inTransaction, metrics }: { inTransaction: InTransaction } & Pick<CallDependencies, 'metrics'>,
  { run, keysOf, bytesOf }: Batch<Operation>,
): Runner {
  const attempt = createGroupCommit<Command<Operation>, Outcome>({
    bytesOf,
    ...limits.sharedTransactions,
    onRefused: () => metrics.callsRefused.inc({ reason: 'full' }),
    run: async (commands, { until, mayWait }) => {
      const [first] = commands
      if (!first) return []
      const { caller } = first
      // A batch that waits for a lock is its first caller's: they hold up no other channel's sends.
      // Their events say which of the callers is a backend.
      const call = { caller, until, isShared: !mayWait, readsFirst: true, cause: {} }
      return inTransaction(call, (ctx) => run(ctx, commands, { mayWait }))
    },
  })
  return async ({ caller, input, until, onRepeat }) => {
    const command = { caller, input }
    const outcome = await attempt(keysOf(command), command, until)
    if ('error' in outcome) throw outcome.error
    if (outcome.isRepeat) await onRepeat()
    return outcome.result
  }
}
