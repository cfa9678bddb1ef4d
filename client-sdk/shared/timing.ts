import type { CallOptions } from '../calls/call-options.ts'
import { ChatError, type ChatErrorCode } from '../calls/error.ts'

/** Timers take 32-bit numbers. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * The result of work, or a ChatError `TIMEOUT` or `ABORTED`, whatever the work waits for; its
 * signal aborts then. Older Safari and React Native have no `AbortSignal.timeout` and no
 * `AbortSignal.any`.
 */
export function withDeadline<T>(
  { timeoutMs = 15_000, signal }: CallOptions,
  work: (signal: AbortSignal, leftMs: () => number) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const { promise: ended, reject } = createDeferred<never>()
  const end = (code: ChatErrorCode, message: string) => {
    reject(new ChatError(message, { code }))
    controller.abort()
  }
  const abort = () => end('ABORTED', 'the call was aborted')
  const expire = () => end('TIMEOUT', `no answer within ${timeoutMs} ms`)
  const timer = timeoutMs > LONGEST_TIMER_MS ? undefined : setTimeout(expire, timeoutMs)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  const endsAt = performance.now() + timeoutMs
  const done = work(controller.signal, () => endsAt - performance.now())
  return Promise.race([ended, done]).finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  })
}

/** Does what many clients want at the same moment, at another one for each. */
export const spread = (work: () => void) => void setTimeout(work, Math.random() * 3_000)

export type Deferred<T> = {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: ChatError) => void
}

/** A promise that is settled from outside. Whether anything awaits it is up to the application. */
export function createDeferred<T>(): Deferred<T> {
  const deferred = {} as Deferred<T> // complete when this returns
  deferred.promise = new Promise<T>((resolve, reject) => {
    Object.assign(deferred, { resolve, reject })
  })
  deferred.promise.catch(() => {})
  return deferred
}
