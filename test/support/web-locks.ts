/** The locks of a browser, as far as they are used. Each is held by one at a time, in turn. */
export function createWebLocks() {
  const lines = new Map<string, Promise<void>>()
  return {
    request: (name: string, { signal }: { signal: AbortSignal }, hold: () => Promise<void>) => {
      const before = lines.get(name) ?? Promise.resolve()
      const held = before.then(() => {
        signal.throwIfAborted()
        return hold()
      })
      lines.set(
        name,
        held.catch(() => {}),
      )
      return held
    },
  }
}
