/** The servers that run in this process now. */
export const openWorlds = new Set<object>()

/** Fails before timers are stopped that a server needs: its end would wait for them for ever. */
export function expectNoWorld() {
  if (openWorlds.size > 0) throw new Error('timers are stopped only in files without a world')
}
