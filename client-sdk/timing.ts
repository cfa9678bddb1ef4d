import { ChatError } from './error.ts'

/** How long to wait before attempt n + 1: doubling, and somewhere between half and the whole of it, so that many clients do not knock at once. */
export const backoff = (
  attempt: number,
  { leastMs, mostMs }: { leastMs: number; mostMs: number },
) => Math.min(mostMs, leastMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)

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
