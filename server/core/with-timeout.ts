/**
 * Runs `work` with a signal that aborts after `milliseconds`, or when `signal` does. This is not
 * AbortSignal.any with a timeout signal: Node 20 may garbage-collect the timeout, and then it never
 * fires.
 */
export async function withTimeout<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(), milliseconds)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
