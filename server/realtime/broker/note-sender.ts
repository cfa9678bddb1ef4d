import { lineOf } from '../hints.ts'
import type { NodeNote } from './index.ts'
import { piecesOf } from './note-pieces.ts'

/** Pause between NOTIFYs: each takes a lock that the commits of all other notifiers wait for. */
const FLUSH_MS = 8
/** PostgreSQL rejects payloads of 8,000 bytes. */
const PAYLOAD_BYTES = 7_900
/** The largest line: a payload also holds the id of its node. */
const LINE_BYTES = PAYLOAD_BYTES - 100
/**
 * The most characters of waiting notes. Further notes are dropped, which the other nodes notice.
 */
const MOST_CHARACTERS = 8 * 1024 * 1024
/** Above this, further hints leave their events to the log. */
const BUSY_CHARACTERS = MOST_CHARACTERS / 8

type NoteSenderOptions = {
  nodeId: string
  notify: (payloads: string[]) => Promise<unknown>
  /** Called with the number of notes that are dropped because too many wait. */
  onLost: (count: number) => void
}

/** Sends notes in few payloads, with a pause after each NOTIFY. */
export function createNoteSender({ nodeId, notify, onLost }: NoteSenderOptions) {
  let pending: string[] = []
  let characters = 0
  let lost = 0
  let flushing: Promise<void> | undefined

  const send = (note: NodeNote) => {
    const text = lineOf(note, characters < BUSY_CHARACTERS ? LINE_BYTES : 0)
    if (characters + text.length > MOST_CHARACTERS && characters > 0) {
      lost += 1
      return
    }
    characters += text.length
    if (Buffer.byteLength(text) <= LINE_BYTES) pending.push(text)
    else pending.push(...piecesOf(text, LINE_BYTES))
    flushing ??= flush()
  }
  const flush = async () => {
    await sleep(FLUSH_MS)
    while (pending.length > 0) {
      const notes = pending
      pending = []
      characters = 0
      if (lost > 0) onLost(lost)
      lost = 0
      const pause = sleep(FLUSH_MS)
      await notify(pack(nodeId, notes))
      await pause
    }
    flushing = undefined
  }

  return {
    send,
    isFlushing: () => flushing !== undefined,
    /** Resolves when everything has been sent. */
    flushed: () => flushing,
  }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Packs notes into few payloads: the id of their node, then a line for each note. */
function pack(nodeId: string, notes: string[]) {
  const payloads: string[] = []
  let payload = nodeId
  let bytes = nodeId.length
  for (const note of notes) {
    const added = Buffer.byteLength(note) + 1
    if (bytes + added > PAYLOAD_BYTES) {
      payloads.push(payload)
      payload = nodeId
      bytes = nodeId.length
    }
    payload += `\n${note}`
    bytes += added
  }
  return [...payloads, payload]
}
