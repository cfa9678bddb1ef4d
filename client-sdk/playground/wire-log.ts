import { createWritableStore, type WritableStore } from './network.ts'

/** An entry of the log: it went over the wire, or into the outbox before it. */
export type WireKind = 'call' | 'event' | 'socket' | 'outbox'
export type WireEntry = {
  key: number
  kind: WireKind
  userId: string
  at: number
  /** `POST /api/channels`, `message.new`, `subscribe`, `queued`. */
  name: string
  /** The topic, the offset, or the text of a message. */
  detail?: string | undefined
  /** How it ended; undefined while it lasts. Events have none. */
  outcome?: { isGood: boolean; text: string; ms?: number | undefined } | undefined
  /** Shown as JSON. */
  payload?: unknown
}

/** More would make the page slow; the oldest go first. */
export const MAX_ENTRIES = 500

/** The last entries of all users of the page, oldest first. */
export type WireLog = {
  entries: WritableStore<readonly WireEntry[]>
  clear: () => void
  /** Where what one user does is recorded. */
  recorderOf: (userId: string) => WireRecorder
}
export type WireRecorder = {
  /** Adds an entry, and returns a function that changes it. */
  add: (entry: Omit<WireEntry, 'key' | 'userId' | 'at'>) => (change: Partial<WireEntry>) => void
}

export function createWireLog(): WireLog {
  const entries = createWritableStore<readonly WireEntry[]>([])
  let nextKey = 0
  const change = (key: number, changes: Partial<WireEntry>) =>
    entries.set(
      entries.getSnapshot().map((entry) => (entry.key === key ? { ...entry, ...changes } : entry)),
    )
  return {
    entries,
    clear: () => entries.set([]),
    recorderOf: (userId) => ({
      add: (entry) => {
        const key = nextKey++
        const added = { ...entry, key, userId, at: Date.now() }
        entries.set([...entries.getSnapshot(), added].slice(-MAX_ENTRIES))
        return (changes) => change(key, changes)
      },
    }),
  }
}
