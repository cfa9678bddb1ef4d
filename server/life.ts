/** What a process has started and is to be stopped, in reverse order. */
export type Stops = (() => Promise<unknown>)[]

/** The life of a process: it starts, and whatever was started is stopped in reverse order, on a signal or on a failure. */
export function live({ start, stops }: { start: () => Promise<void>; stops: Stops }) {
  let isStopping = false
  const stop = async (code: number) => {
    isStopping = true
    setTimeout(() => process.exit(code), 14_000).unref()
    for (let end = stops.pop(); end; end = stops.pop()) await end().catch((error) => console.error(describe(error)))
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1)
      void stop(0)
    })
  }
  start().catch((error) => {
    if (isStopping) return
    console.error(describe(error))
    void stop(1)
  })
}

/** What an error says in one line. Its cause knows better; of several addresses tried in vain the first will do. */
export const describe = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return describe(error.errors[0])
  if (error instanceof Error && error.cause instanceof Error) return describe(error.cause)
  return error instanceof Error ? error.message.replace(/\s*\n\s*/g, ' ') : String(error)
}
