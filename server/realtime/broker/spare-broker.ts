import type { Broker, NodeNote } from './index.ts'

type MainBroker = Broker & { isUp: () => boolean }

/**
 * A broker with another one beside it, for the commands of clients without a WebSocket that reach
 * another node than that of their stream. All else that the main one cannot carry is told later, by
 * the log of events; these clients could not even subscribe. Which nodes the main one has lost, the
 * others may not know: so the spare one always listens, and an answer takes the way of its request.
 */
export function withSpare<Main extends MainBroker>(main: Main, spare: Broker, nodeId: string) {
  /** Requests that came over the spare one, until they are answered. */
  const asked = new Set<string>()
  const takesSpare = (note: NodeNote) => {
    if (note.kind === 'commands') return !main.isUp()
    return note.kind === 'accepted' && asked.delete(note.id)
  }
  const broker = {
    ...main,
    send: (note) => (takesSpare(note) ? spare : main).send(note),
    resend: spare.send,
    start: async (listener) => {
      const onNote = (note: NodeNote) => {
        if (note.kind === 'commands' && note.node === nodeId) asked.add(note.id)
        listener.onNote(note)
      }
      await Promise.all([main.start(listener), spare.start({ onNote, onMissedNotes: () => {} })])
    },
    stop: async () => {
      await Promise.all([main.stop(), spare.stop()])
    },
  } satisfies Broker
  return { ...main, ...broker }
}
