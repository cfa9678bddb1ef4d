type Request = {
  signal?: AbortSignal | undefined
  hold: () => Promise<void>
  end: (error?: Error) => void
}
type Options = { signal?: AbortSignal; steal?: boolean }

/** The locks of a browser, as far as they are used: each is held by one, or taken from it. */
export function createWebLocks() {
  const lines = new Map<string, Request[]>()
  /** Lets the first of a line hold the lock, until it ends or the lock is taken from it. */
  const grant = async (line: Request[]) => {
    const [first] = line
    if (!first) return
    await Promise.resolve()
    if (line[0] !== first) return
    const aborted = first.signal?.aborted ? new Error('aborted') : undefined
    if (!aborted) await first.hold()
    first.end(aborted)
    if (line[0] !== first) return
    line.shift()
    void grant(line)
  }
  return {
    request: (name: string, { signal, steal }: Options, hold: () => Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        const line = lines.get(name) ?? []
        lines.set(name, line)
        const end = (error?: Error) => (error ? reject(error) : resolve())
        const request = { signal, hold, end }
        if (steal) {
          line.shift()?.end(new Error('stolen'))
          line.unshift(request)
        } else line.push(request)
        if (line[0] === request) void grant(line)
      }),
  }
}
