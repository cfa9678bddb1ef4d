import type { Gone } from '../core/admission.ts'
import type { Caller, Cause, WriteContext } from '../core/context.ts'
import type { ApiError } from '../core/errors.ts'
import type { Line } from './line.ts'

/** A call that was let in, as it is run. */
export type RunningCall = {
  caller: Caller
  until: number
  /** Tells when the caller goes away before the answer. */
  gone?: Gone | undefined
  /** It is a batch of several callers of the app. */
  isShared?: boolean
}

/** The same with what it was given. */
export type AcceptedCall = Omit<RunningCall, 'isShared'> & {
  input: never
  onRepeat: () => Promise<void>
  /** The commands of the same call, in their order. */
  line?: Line | undefined
  /** Counts another command of the same call; an error if the limit has no room for it. */
  takeAnother: () => Promise<ApiError | undefined>
  /** Logs what failed in a part of the call, while the other parts are answered. */
  logFault: (error: unknown) => void
  /** Notes for the log that a part of the call was refused, while the others are answered. */
  noteRefusal: (error: ApiError) => void
  /** A body that is read while it arrives. */
  body?: AsyncIterable<Uint8Array> | undefined
}
export type Runner = (accepted: AcceptedCall) => Promise<unknown>

/** Runs work in a transaction of the call's app. */
export type InTransaction = <T>(
  call: RunningCall & { readsFirst?: boolean; cause?: Cause },
  work: (ctx: WriteContext) => Promise<T>,
) => Promise<T>
