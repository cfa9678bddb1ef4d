/**
 * Lets work go on for so long, or until it is called off. (Not by AbortSignal.any over a timeout: Node 20 may collect
 * the timeout as garbage, and then it never comes.)
 */
export async function withTimeout<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const callOff = () => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(), milliseconds)
  signal?.addEventListener('abort', callOff)
  if (signal?.aborted) callOff()
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', callOff)
  }
}
