import { topics } from '@parley/contract'
import type { EventPublisher } from '../../core/event-bus.ts'
import type { AppendedText } from '../../core/streams.ts'

/** Consecutive appends, joined, as a large channel is sent them when its pause ends. */
type Joined = Omit<AppendedText, 'isLarge' | 'cause'>

type DeltasOptions = { publisher: Pick<EventPublisher, 'broadcast'>; pauseMs: number }

/**
 * Sends subscribers what was appended: at once, or in large channels at most once in a pause. Each
 * message has one timer and at most one text, no longer than a message.
 */
export function createDeltas({ publisher, pauseMs }: DeltasOptions) {
  /** By message, while its pause lasts; undefined if nothing came since it began. */
  const pausing = new Map<string, { timer: NodeJS.Timeout; joined: Joined | undefined }>()

  const send = ({ appId, channelId, messageId, at, text }: Joined) => {
    const topic = topics.channel(appId, channelId)
    const payload = { channelId, messageId, at, text }
    publisher.broadcast({ kind: 'event', topic, type: 'message.delta', payload })
  }
  const pause = (messageId: string) => {
    const timer = setTimeout(() => {
      const joined = pausing.get(messageId)?.joined
      pausing.delete(messageId)
      if (!joined) return
      send(joined)
      pause(messageId)
    }, pauseMs)
    pausing.set(messageId, { timer, joined: undefined })
  }
  /** Whether the append continues the joined text: another node may have taken one in between. */
  const follows = (joined: Joined, at: number) => joined.at + joined.text.length === at

  const add = ({ isLarge, cause: _, ...append }: AppendedText) => {
    const current = pausing.get(append.messageId)
    if (!isLarge) return send(append)
    if (!current) {
      send(append)
      return pause(append.messageId)
    }
    const { joined } = current
    if (!joined) current.joined = append
    else if (follows(joined, append.at)) joined.text += append.text
    else {
      send(joined)
      current.joined = append
    }
  }
  /** Sends what is left. */
  const stop = () => {
    for (const { timer, joined } of pausing.values()) {
      clearTimeout(timer)
      if (joined) send(joined)
    }
    pausing.clear()
  }
  return { add, stop }
}
