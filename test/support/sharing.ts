import type { Server } from './server.ts'

/** The server that files of this worker share, and whether the current one does. */
export const sharing: { isWanted: boolean; server?: Server | undefined } = { isWanted: false }

/** Other files stop timers and clocks that it needs, or would measure its work, too. */
export async function stopUnlessShared() {
  const { isWanted, server } = sharing
  if (isWanted || !server) return
  sharing.server = undefined
  await server.stop()
}
