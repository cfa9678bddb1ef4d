import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter, Gauge } from 'prom-client'

type MemoryTallyOptions = {
  mostBytes: number
  /** Shows how many bytes are counted. */
  gauge: Pick<Gauge, 'set'>
  /** Counts what was cut. */
  cuts: Pick<Counter, 'inc'>
}

/** Counts the memory of requests or responses until they close, and cuts the oldest. */
export function createMemoryTally<Message extends IncomingMessage | ServerResponse>({
  mostBytes,
  gauge,
  cuts,
}: MemoryTallyOptions) {
  /** The bytes of each open message, the oldest first. */
  const counted = new Map<Message, number>()
  let total = 0
  const count = (bytes: number) => {
    total += bytes
    gauge.set(total)
  }
  const forget = (message: Message) => {
    count(-(counted.get(message) ?? 0))
    counted.delete(message)
  }
  /** Closes the connection, once. */
  const cut = (message: Message) => {
    if (!counted.has(message)) return
    forget(message)
    message.destroy()
    cuts.inc()
  }
  return {
    isFull: () => total > mostBytes,
    add: (message: Message, bytes: number) => {
      counted.set(message, bytes)
      count(bytes)
      message.once('close', () => forget(message))
    },
    /** Does nothing for one that was cut: its further bytes are not kept. */
    grow: (message: Message, bytes: number) => {
      const before = counted.get(message)
      if (before === undefined) return
      counted.set(message, before + bytes)
      count(bytes)
    },
    /** Closes the connections of the oldest until the rest takes no more than `mostBytes`. */
    cutOldest: () => {
      for (const [message, bytes] of counted) {
        if (total <= mostBytes) return
        if (bytes === 0) continue
        cut(message)
      }
    },
    cut,
  }
}
