import type { Broker, NodeNote } from './index.ts'

type MainBroker = Broker & { isUp: () => boolean }

/**
 * A broker with another one beside it, for the commands of clients without a WebSocket that reach
 * another node than that of their stream. All else that the main one cannot carry follows later,
 * from the log of events; these clients could not even subscribe. Nodes may not know which others
 * the main one has lost: so the spare one always listens, and an answer takes the way of its
 * request.
 */
export function withSpare<Main extends MainBroker>(main: Main, spare: Broker, nodeId: string) {
  /** Requests that came over the spare one, until they are answered. */
  const asked = new Set<string>()
  /** Notes that went over the spare one. */
  const sent = new WeakSet<NodeNote>()
  let isStopped = false
  const takesSpare = (note: NodeNote) => {
    if (note.kind === 'accepted') return asked.delete(note.id) || !main.isUp()
    return note.kind === 'commands' && !main.isUp()
  }
  const sendOverSpare = (note: NodeNote) => {
    if (isStopped || sent.has(note)) return
    sent.add(note)
    spare.send(note)
  }
  return {
    ...main,
    send: (note) => (takesSpare(note) ? sendOverSpare : main.send)(note),
    resend: sendOverSpare,
    start: async (listener) => {
      const onNote = (note: NodeNote) => {
        if (note.kind === 'commands' && note.node === nodeId) asked.add(note.id)
        listener.onNote(note)
      }
      await Promise.all([main.start(listener), spare.start({ onNote, onMissedNotes: () => {} })])
    },
    stop: async () => {
      isStopped = true
      await Promise.all([main.stop(), spare.stop()])
    },
  } satisfies Broker
}
