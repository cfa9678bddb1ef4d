import { lineOf } from '../hints.ts'
import { inboxOf, type NodeNote } from './index.ts'
import { LEAVE } from './note-receiver.ts'

/** The most characters of notes in a payload. A longer note has one to itself. */
const PAYLOAD_CHARACTERS = 64 * 1024
/** The most characters of notes that wait for Redis, or for its answers. */
const MOST_CHARACTERS = 8 * 1024 * 1024
/** Above this, further hints leave their events to the log. */
const BUSY_CHARACTERS = MOST_CHARACTERS / 8

type RedisSenderOptions = {
  nodeId: string
  /** The channel that all nodes listen to. */
  everyone: string
  channelOf: (topic: string) => string
  /** Rejects if Redis did not take the payload in time. */
  publish: (channel: string, payload: string) => Promise<unknown>
  /** Called with the number of payloads or notes that did not leave this node. */
  onLost: (count: number, error: unknown) => void
}

/**
 * Sends notes in few payloads, each batch after the answer to the one before. Payloads to everyone
 * are numbered; others say the last number. For each loss a number is left out, so that the other
 * nodes notice.
 */
export function createRedisSender(options: RedisSenderOptions) {
  const { nodeId, everyone, channelOf, publish, onLost } = options
  let sent = 0
  let pending = new Map<string, string[]>()
  let characters = 0
  let flushing: Promise<void> | undefined

  const lost = (count: number, error: unknown) => {
    sent += 1
    onLost(count, error)
  }
  const sendPayload = (channel: string, lines: string) => {
    const number = channel === everyone ? `${++sent}` : `=${sent}`
    return publish(channel, `${nodeId}\n${number}\n${lines}`)
  }
  const flush = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    while (pending.size > 0) {
      const batch = pending
      pending = new Map()
      characters = 0
      const payloads = [...batch].flatMap(([channel, notes]) =>
        pack(notes).map((lines) => sendPayload(channel, lines)),
      )
      const results = await Promise.allSettled(payloads)
      const failed = results.filter((result) => result.status === 'rejected')
      if (failed.length > 0) lost(failed.length, failed[0]?.reason)
    }
    flushing = undefined
  }

  return {
    send: (note: NodeNote) => {
      const line = lineOf(note, characters < BUSY_CHARACTERS ? PAYLOAD_CHARACTERS : 0)
      if (characters + line.length > MOST_CHARACTERS && characters > 0)
        return lost(1, new Error('too many notes wait for Redis'))
      characters += line.length
      const topic = topicOf(note)
      const channel = topic === undefined ? everyone : channelOf(topic)
      const waiting = pending.get(channel)
      if (waiting) waiting.push(line)
      else pending.set(channel, [line])
      flushing ??= flush()
    },
    isFlushing: () => flushing !== undefined,
    /** Resolves when everything has been sent. */
    flushed: () => flushing,
    /**
     * Sends a number without notes. Once it arrives, everything sent before has arrived or is known
     * to be lost.
     */
    beat: () => sendPayload(everyone, ''),
    /** Says that this node leaves, unless it sent nothing: then the others do not know it. */
    leave: async () => {
      if (sent > 0) await publish(everyone, `${nodeId}\n${LEAVE}`)
    },
  }
}

/** The topic or inbox whose followers a note is for; undefined if it concerns users anywhere. */
function topicOf(note: NodeNote): string | undefined {
  if (note.kind === 'event' || note.kind === 'rewritten') return note.topic
  if ('node' in note) return inboxOf(note.node)
  return note.kind === 'hint' && note.change === undefined ? note.topic : undefined
}

/** Joins notes to few payloads of lines. */
function pack(notes: string[]) {
  const payloads: string[] = []
  let payload = ''
  for (const note of notes) {
    if (payload !== '' && payload.length + note.length > PAYLOAD_CHARACTERS) {
      payloads.push(payload)
      payload = ''
    }
    payload += payload === '' ? note : `\n${note}`
  }
  return [...payloads, payload]
}
