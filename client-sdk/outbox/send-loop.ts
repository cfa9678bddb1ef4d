import type { ChatError } from '../calls/error.ts'
import type { ChatMessage } from '../room/state.ts'
import type { OutboxEntry } from './entry.ts'
import type { OutboxOptions } from './options.ts'

/** The loop that sends the operations of a line. */
export type SendLoop = {
  line: string
  tries: number
  /** Why the operations of the line wait, and until when. */
  waiting?: ChatMessage['waiting']
  /** Why the last attempt failed. */
  error?: ChatError
  /** Other calls were answered after that: the server can be reached. */
  isConnected?: boolean
  /** Ends the wait for the next attempt, without one. */
  cancel?: (() => void) | undefined
  /** Messages go one by one: a call with several was refused. */
  isSingle?: boolean
}
export type SenderOptions = OutboxOptions & {
  queued: () => Iterable<OutboxEntry>
  /** Called before the first attempt; false if nothing is left to send. */
  prepare: (entry: OutboxEntry) => boolean
  onDone: (entry: OutboxEntry, result: unknown) => void
  onRefused: (entry: OutboxEntry, error: ChatError) => void
}
