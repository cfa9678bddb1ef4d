/**
 * No longer valid: the tokens of a user before a generation, or all of them; known facts of an API
 * key; or those of an app, whose sockets end too if it `isClosed` now.
 */
export type Revoked =
  | { appId: string; userId: string; generation?: number }
  | { keyHash: string }
  | { appId: string; isClosed: boolean }
export type Revocations = ReturnType<typeof createRevocations>

/**
 * Notifies everything that relies on credentials (caches, sockets) when they are revoked. To be
 * published after the commit.
 */
export function createRevocations() {
  const listeners = new Set<(revoked: Revoked) => void>()
  return {
    publish: (revoked: Revoked) => {
      for (const listener of listeners) listener(revoked)
    },
    subscribe: (listener: (revoked: Revoked) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
