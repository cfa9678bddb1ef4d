import { ChatError } from './error.ts'

/** Resolves after a while; rejects with a ChatError `ABORTED` if the signal aborts first. */
export const delay = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(new ChatError('the call was aborted', { code: 'ABORTED' }))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })

export type Deferred<T> = {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: ChatError) => void
}

/** A promise that is settled from outside. Whether anything awaits it is up to the application. */
export function createDeferred<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  promise.catch(() => {})
  return { promise, resolve: () => {}, reject: () => {}, ...settle }
}
