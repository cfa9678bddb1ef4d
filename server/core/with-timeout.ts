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

/** The value of `work`, or what `late` returns or throws after `milliseconds`. `work` goes on. */
export async function valueWithin<T, Late>(
  milliseconds: number,
  work: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  if (milliseconds === Number.POSITIVE_INFINITY) return work
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), Math.max(0, milliseconds))
  })
  try {
    const first = await Promise.race([work, timeout])
    return first === LATE ? late() : first
  } finally {
    clearTimeout(timer)
  }
}

const LATE = Symbol('late')
