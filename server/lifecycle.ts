/** What a process has started and is to be stopped, in reverse order. */
export type Stops = (() => Promise<unknown>)[]

/** The life of a process: it starts, and whatever was started is stopped in reverse order, on a signal or on a failure. */
export function runProcess({
  start,
  stops,
}: {
  start: (stop: () => void) => Promise<void>
  stops: Stops
}) {
  let isStopping = false
  const stop = async (code: number) => {
    isStopping = true
    setTimeout(() => process.exit(code), 14_000).unref()
    for (let end = stops.pop(); end; end = stops.pop())
      await end().catch((error) => console.error(errorMessage(error)))
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1)
      void stop(0)
    })
  }
  start(() => isStopping || void stop(0)).catch((error) => {
    if (isStopping) return
    console.error(errorMessage(error))
    void stop(1)
  })
}

/** Who ends npm ends the shell that npm has started us in, and neither tells us. */
export function stopWithParent(stop: () => void) {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && stop(), 500).unref()
}

/** What an error says in one line. Its cause knows better; of several addresses tried in vain the first will do. */
export const errorMessage = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return errorMessage(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return errorMessage(error.cause)
  return error instanceof Error ? error.message.replace(/\s*\n\s*/g, ' ') : String(error)
}
