type NoteCountsOptions = {
  /** A node that beats is dead, or cut off, when nothing of it arrived for this long. */
  silentMs: number
  /** Notes of one node, or of several, may have been lost in the last `milliseconds`. */
  onMissed: (milliseconds: number, nodeId?: string) => void
  /** A node that beats was met: it may not know this one. */
  onPeer: () => void
}
/** How long a node that beats is taken to be there without a sign. */
const PEER_MS = 60_000
/** How long the number of a node that does not beat is kept, such as that of a worker. */
const QUIET_MS = 3_600_000

type Sender = { number: number; heardAt: number; isBeating: boolean }

/**
 * Tells whether notes of other nodes were lost before they arrived: each node numbers its payloads,
 * and sends one even if it has no notes.
 */
export function createNoteCounts({ silentMs, onMissed, onPeer }: NoteCountsOptions) {
  const senders = new Map<string, Sender>()
  let startedAt = performance.now()
  /** When each node that beats was last heard: one that fell silent may still have users. */
  const peers = new Map<string, number>()

  const forgetPeers = () => {
    const since = performance.now() - PEER_MS
    for (const [nodeId, heardAt] of peers) {
      if (heardAt < since) peers.delete(nodeId)
    }
  }

  return {
    /** Whether another node beats, as far as is known. */
    hasPeers: () => {
      forgetPeers()
      return peers.size > 0
    },
    /** A payload has arrived. */
    received: (nodeId: string, number: number, isBeat: boolean) => {
      const now = performance.now()
      const known = senders.get(nodeId)
      if (known && number <= known.number) return
      // A node that always sends notes never beats.
      const isBeating = isBeat || known?.isBeating === true || peers.has(nodeId)
      senders.set(nodeId, { number, heardAt: now, isBeating })
      const isMet = isBeating && !peers.has(nodeId)
      if (isBeating) peers.set(nodeId, now)
      if (isMet) onPeer()
      // Nodes that are there when we begin to listen have sent before.
      const isNew = known === undefined && now - startedAt > silentMs
      if (isNew && number > 1) onMissed(silentMs, nodeId)
      if (known && number > known.number + 1) onMissed(now - known.heardAt, nodeId)
    },
    /** The node has sent a payload without a number of its own; this was the last number. */
    heard: (nodeId: string, number: number) => {
      if (senders.has(nodeId)) return
      senders.set(nodeId, { number, heardAt: performance.now(), isBeating: false })
    },
    /** The node has stopped, and has sent everything. */
    left: (nodeId: string) => {
      senders.delete(nodeId)
      peers.delete(nodeId)
    },
    /** Looks for nodes that fell silent, while our own notes arrived until `heardAt`. */
    check: (heardAt: number) => {
      forgetPeers()
      const silent = [...senders].filter(
        ([, sender]) => heardAt - sender.heardAt > (sender.isBeating ? silentMs : QUIET_MS),
      )
      for (const [nodeId] of silent) senders.delete(nodeId)
      for (const [nodeId, { isBeating, heardAt }] of silent)
        if (isBeating) onMissed(performance.now() - heardAt, nodeId)
    },
    /** A new connection listens. */
    restarted: () => {
      senders.clear()
      startedAt = performance.now()
    },
  }
}
