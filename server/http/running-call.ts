import type { Gone } from '../core/admission.ts'
import type { Caller, Cause, WriteContext } from '../core/context.ts'
import type { ApiError } from '../core/errors.ts'
import type { FirstStepTools } from '../core/operation.ts'
import type { DbConnection, Deadline } from '../db/client.ts'
import type { CommandSequence } from './command-sequence.ts'

/** A call that was admitted, as it runs. */
export type RunningCall = {
  caller: Caller
  until: number
  /** Fires when the caller disconnects before the answer. */
  gone?: Gone | undefined
  /** Whether it is a batch of several callers of the app. */
  isShared?: boolean
  /** Whether it is such a batch that waits for a lock. */
  isWaiting?: boolean
}

/** An admitted call with its input. */
export type AcceptedCall = Omit<RunningCall, 'isShared' | 'isWaiting'> & {
  input: never
  onRepeat: () => Promise<void>
  /** The commands of the same call, in their order. */
  sequence?: CommandSequence | undefined
  /** Counts another command of the same call. Returns an error if that exceeds the limit. */
  takeAnother: () => Promise<ApiError | undefined>
  /** Whether commands over the limit may be looked up, as repeats of earlier ones. */
  mayLookUp: () => boolean
  /** Logs the failure of one part of the call; the other parts are still answered. */
  logFault: (error: unknown) => void
  /** Notes for the log that one part was refused while the others are answered. */
  noteRefusal: (error: ApiError) => void
  /** The body of an operation that reads it as it arrives. */
  body?: AsyncIterable<Uint8Array> | undefined
}
export type Runner = (accepted: AcceptedCall) => Promise<unknown>

/** Runs work in a transaction of the call's app. */
export type InTransaction = <T>(
  call: RunningCall & { writesLast?: boolean; cause?: Cause },
  work: (ctx: WriteContext) => Promise<T>,
) => Promise<T>

/** Lends a connection to a call, whose caller has at most a few at once. */
export type UseForCall = <T>(
  call: RunningCall,
  work: (db: DbConnection, signal: Deadline) => Promise<T>,
) => Promise<T>

/** What a step uses that a call requires first: connections of that call. */
export const toolsOf = (
  call: RunningCall,
  { use, inTransaction }: { use: UseForCall; inTransaction: InTransaction },
): FirstStepTools => ({
  use: (work) => use(call, work),
  inTransaction: (work) => inTransaction(call, work),
  until: call.until,
})
