import { formatIssues, type Limit, type Operation, pathParameters } from '@parley/contract'
import { networkOf } from '../core/addresses.ts'
import type { Gone } from '../core/admission.ts'
import { type Caller, hasKey, type UserCaller } from '../core/context.ts'
import { ApiError } from '../core/errors.ts'
import type { Implementation } from '../core/operation.ts'
import { userKey } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { tokens } from '../features/tokens.ts'
import type { createActingUsers } from './acting-users.ts'
import type { Authenticate, Credentials } from './authenticate.ts'
import { answerOver, noteRefusals } from './over-limit.ts'
import {
  BadKeysError,
  type createRateLimits,
  type RateLimitWindow,
  type ShownWindow,
} from './rate-limits.ts'
import {
  nameCaller,
  noteCaller,
  noteRefused,
  noteTarget,
  type RequestFacts,
} from './request-facts.ts'
import { admissionRequestOf, createRunner, type RunnerDependencies } from './runner.ts'

/** The request of a call, whatever the protocol, and a way to set response headers. */
export type CallRequest = {
  credentials: Credentials
  setHeader: (name: string, value: string) => void
  /** The facts about the request that are logged. */
  facts: RequestFacts
  /** Fires when the caller disconnects before the answer. */
  gone: Gone
  /** Whether this is part of a call that was already counted. */
  isCounted?: boolean
  /** The body of an operation that reads it as it arrives. Empty over protocols other than REST. */
  body?: AsyncIterable<Uint8Array> | undefined
  /** Logs the failure of one part of the call; the other parts are still answered. */
  logFault: (error: unknown) => void
}
export type CallDependencies = RunnerDependencies & {
  authenticate: Authenticate
  actAs: ReturnType<typeof createActingUsers>
  rateLimits: ReturnType<typeof createRateLimits>
}
/**
 * Reads the input of a call, once its caller is known and counted. Input that cannot be read is an
 * ApiError, to be thrown when the input is parsed.
 */
type ReadInput = () => unknown
export type Call = (request: CallRequest, readInput: ReadInput) => Promise<unknown>

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
  return async (request, readInput) => {
    const until = db.newDeadline()
    const { credentials, facts, gone } = request
    const caller = await authenticate(op.auth, credentials, until, nameCaller(facts)).catch(
      (error) => {
        if (error instanceof BadKeysError) setRateLimitHeaders(request, error.window)
        throw error
      },
    )
    noteCaller(facts, caller)
    const limit = limitOf(op, caller)
    const key = rateLimitKey(limit, caller, credentials.ip)
    const ownLimits = ownLimitsOf(caller)
    const take = async () => {
      const own = await rateLimits.take(limit, key, ownLimits)
      const isOfApp = limit !== 'none' && 'appId' in caller
      const window = isOfApp ? await rateLimits.takeForApp(caller.appId, own, ownLimits) : own
      setRateLimitHeaders(request, window)
      return window
    }
    const noteRefusal = (error: ApiError) => noteRefused(facts, error)
    const window = request.isCounted ? undefined : await take()
    if (window?.isExceeded)
      return answerRepeat(dependencies, implementation, {
        caller,
        readInput,
        key,
        window,
        until,
        gone,
        noteRefusal,
      })
    requireScope(op, caller)
    // By the schema that the implementation was typed with.
    const input = parse(op, readInput()) as never
    if (op.auth === 'admin') noteTarget(facts, input)
    const onRepeat = async () => setRateLimitHeaders(request, window?.giveBack())
    const takeAnother = async () => {
      const next = await take()
      return next?.isExceeded ? refusalOf(next) : undefined
    }
    const { body, logFault } = request
    const mayLookUp = () => rateLimits.mayLookUp(key)
    const onParts = { takeAnother, mayLookUp, logFault, noteRefusal }
    const accepted = { caller, input, until, gone, onRepeat, body, ...onParts }
    if (!isActing(caller)) return run(accepted)
    const { userId, isAdmin, ...backend } = caller
    const given = { userId } as never // the input of `tokens.create`
    const create = () => createUser({ ...accepted, caller: backend, input: given })
    return actAs({ caller, until, create }, () => run(accepted))
  }
}

/** Limits that the operator has set for the caller's app, where they differ from the server's. */
const ownLimitsOf = (caller: Caller) =>
  ('settings' in caller && caller.settings?.rateLimits) || undefined

/**
 * Refuses operations outside the scope of the caller's API key. Acting as a user takes the scope
 * `full`.
 */
function requireScope({ scope }: Operation, caller: Caller) {
  if (!hasKey(caller) || !('scopes' in caller) || caller.scopes === undefined) return
  const { scopes } = caller
  if (scopes.includes('full')) return
  if (isActing(caller) || !scopes.includes(scope))
    throw new ApiError('FORBIDDEN', `This API key is only for: ${scopes.join(', ')}`)
}

/** A backend's sends count like its other calls. */
const limitOf = ({ limit = 'requests' }: Operation, caller: Caller): Limit =>
  limit === 'messages' && hasKey(caller) ? 'requests' : limit

const isActing = (caller: Caller): caller is ActingCaller =>
  hasKey(caller) && 'userId' in caller && caller.userId !== null
type ActingCaller = UserCaller & { keyHash: string }

/**
 * A call counts against the limit of the user, of the API key, or for requests of tokens of the
 * address. Appends always come from a user.
 */
function rateLimitKey(limit: Limit, caller: Caller, ip: string) {
  if (!('appId' in caller)) return networkOf(ip)
  if (!hasKey(caller)) return userKey(caller)
  if (limit === 'appends' && isActing(caller)) return userKey(caller)
  return limit === 'tokens' ? `${caller.keyHash}:${networkOf(ip)}` : caller.keyHash
}

function setRateLimitHeaders({ setHeader }: CallRequest, window: ShownWindow | undefined) {
  if (!window) return
  setHeader('RateLimit-Limit', String(window.limit))
  setHeader('RateLimit-Remaining', String(window.remaining))
  setHeader('RateLimit-Reset', String(window.resetSeconds))
}

type LimitedCall = {
  caller: Caller
  readInput: ReadInput
  key: string
  window: RateLimitWindow
  until: number
  gone: CallRequest['gone']
  noteRefusal: (error: ApiError) => void
}

/**
 * Refuses a call over the limit, unless it repeats a call that has already succeeded: then it is
 * answered. Of a call with many commands, those are answered that are repeats.
 */
async function answerRepeat(
  { db, admit, services, rateLimits }: CallDependencies,
  implementation: Implementation,
  { caller, readInput, key, window, until, gone, noteRefusal }: LimitedCall,
) {
  const refusal = refusalOf(window)
  const { kind, op } = implementation
  if ((kind !== 'batch' && kind !== 'each') || !rateLimits.mayLookUp(key)) throw refusal
  requireScope(op, caller)
  const { data } = op.input.safeParse(readInput())
  if (data === undefined) throw refusal
  const given = data as never // parsed by its own schema
  const request = admissionRequestOf({ caller, until, gone })
  const use = <T>(work: (db: Tx) => Promise<T>) => admit(request, () => db.use(work, until))
  if (kind === 'batch') {
    const repeated = await use((db) => implementation.findRepeated({ db, caller, services }, given))
    if (repeated) return repeated
    throw refusal
  }
  const inputs = implementation.inputsOf(given)
  const outcomes = await answerOver(inputs, refusal, (repeats) =>
    use((db) => implementation.findRepeated({ db, caller, services }, repeats)),
  )
  if (!outcomes.some((outcome) => 'result' in outcome)) throw refusal
  noteRefusals(outcomes, noteRefusal)
  return implementation.outputOf(outcomes)
}

const refusalOf = ({ limit, resetSeconds }: RateLimitWindow) =>
  new ApiError('RATE_LIMITED', `Too many calls: at most ${limit} a minute`, resetSeconds)

function parse(op: Operation, raw: unknown) {
  if (raw instanceof ApiError) throw raw
  const parsed = op.input.safeParse(raw)
  if (parsed.success) return parsed.data
  // A malformed id in the path names nothing, so it is NOT_FOUND rather than a bad request.
  const ids = new Set(pathParameters(op.path).filter((name) => name.endsWith('Id')))
  const malformed = parsed.error.issues.filter(({ path: [first] }) => !ids.has(String(first)))
  if (malformed.length === 0) throw new ApiError('NOT_FOUND', 'Not found')
  throw new ApiError('VALIDATION_ERROR', formatIssues(malformed))
}
