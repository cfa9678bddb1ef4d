type NoteCountsOptions = {
  /**
   * A node that sends beats is dead, or cut off, when nothing from it has arrived for this long.
   */
  silentMs: number
  /** Notes of one node, or of several, may have been lost in the last `milliseconds`. */
  onMissed: (milliseconds: number, nodeId?: string) => void
  /** Called when a node that beats is first seen: it may not know this one. */
  onPeer: () => void
}
/** How long a node that beats counts as alive without a sign of life. */
const PEER_MS = 60_000
/**
 * How long the number of a silent node is remembered: a worker without notes, or a node that is cut
 * off from the broker and may come back.
 */
const QUIET_MS = 3_600_000

type SendingNode = {
  number: number
  receivedAt: number
  isBeating: boolean
  /** Whether its silence was reported. */
  isReported: boolean
}

/**
 * Detects notes that were lost on their way. Each node numbers its payloads, and sends one even
 * when it has no notes.
 */
export function createNoteCounts({ silentMs, onMissed, onPeer }: NoteCountsOptions) {
  const senders = new Map<string, SendingNode>()
  let startedAt = performance.now()
  /** When each node that beats last sent something: one that fell silent may still have users. */
  const peers = new Map<string, number>()

  const forgetPeers = () => {
    const since = performance.now() - PEER_MS
    for (const [nodeId, receivedAt] of peers) {
      if (receivedAt < since) peers.delete(nodeId)
    }
  }

  return {
    /** Whether another node beats, as far as is known. */
    hasPeers: () => {
      forgetPeers()
      return peers.size > 0
    },
    /** Notes a payload that has arrived. */
    received: (nodeId: string, number: number, isBeat: boolean) => {
      const now = performance.now()
      const known = senders.get(nodeId)
      if (known && number <= known.number) return
      // A node that always sends notes never beats.
      const isBeating = isBeat || known?.isBeating === true || peers.has(nodeId)
      senders.set(nodeId, { number, receivedAt: now, isBeating, isReported: false })
      const isMet = isBeating && !peers.has(nodeId)
      if (isBeating) peers.set(nodeId, now)
      if (isMet) onPeer()
      // Nodes that exist when we begin to listen have sent payloads before.
      const isNew = known === undefined && now - startedAt > silentMs
      if (isNew && number > 1) onMissed(silentMs, nodeId)
      if (known && number > known.number + 1) onMissed(now - known.receivedAt, nodeId)
    },
    /** Notes a payload without a number of its own, which says the last number instead. */
    receivedUnnumbered: (nodeId: string, number: number) => {
      if (senders.has(nodeId)) return
      const receivedAt = performance.now()
      senders.set(nodeId, { number, receivedAt, isBeating: false, isReported: false })
    },
    /** Notes that the node has stopped, after everything it sent. */
    left: (nodeId: string) => {
      senders.delete(nodeId)
      peers.delete(nodeId)
    },
    /** Looks for nodes that fell silent, while our own notes arrived until `receivedAt`. */
    check: (receivedAt: number) => {
      forgetPeers()
      for (const [nodeId, sender] of [...senders]) {
        const silence = receivedAt - sender.receivedAt
        if (silence > QUIET_MS) senders.delete(nodeId)
        const isSilent = sender.isBeating && silence > silentMs
        if (!isSilent || sender.isReported) continue
        // Its number stays: what it sends until something of it arrives again may be lost, too.
        sender.isReported = true
        onMissed(performance.now() - sender.receivedAt, nodeId)
      }
    },
    /** Begins again, with a new listening connection. A silence from before it goes on. */
    restarted: () => {
      for (const [nodeId, { isReported }] of senders) {
        if (!isReported) senders.delete(nodeId)
      }
      startedAt = performance.now()
    },
  }
}
