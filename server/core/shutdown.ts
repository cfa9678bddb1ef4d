import { setTimeout } from 'node:timers/promises'

export type Shutdown = ReturnType<typeof createShutdown>

/**
 * Says that this process is about to stop, some time before it does. Proxies ask /health only now
 * and then: until they have asked, they send requests here, which must be served.
 */
export function createShutdown() {
  const listeners = new Set<(milliseconds: number) => void>()
  let isAnnounced = false
  let isEnding = false
  const end = async (milliseconds: number) => {
    isEnding = true
    for (const listener of listeners) listener(milliseconds)
    await setTimeout(milliseconds)
  }
  return {
    isAnnounced: () => isAnnounced,
    /** Whether each connection is to end with its next answer. */
    isEnding: () => isEnding,
    /** Listeners learn how much time there is. */
    subscribe: (listener: (milliseconds: number) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Resolves when the time is over. */
    announce: async (milliseconds: number) => {
      isAnnounced = true
      await end(milliseconds)
    },
    /** Another process of this server takes over, so /health remains as it is. */
    handOver: end,
  }
}
