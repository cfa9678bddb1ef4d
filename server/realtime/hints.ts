import { parseTopic } from '@parley/contract'
import type { StoredEvent } from '../core/event-buffer.ts'
import type { Broker, EventHint, HintedChange, NodeNote } from './broker/index.ts'
import type { UserFanout } from './fanout/index.ts'
import type { UnreadNotifier } from './unread/index.ts'

/** The hint that other nodes are sent for a durable event. */
export function hintOf(event: StoredEvent): EventHint {
  const { topic, offset } = event
  const change = hintedChangeOf(event)
  return { kind: 'hint', topic, offset, ...(change ? { change } : {}) }
}

/** The change of a durable event for users beyond its own topic; undefined for most events. */
function hintedChangeOf({ type, payload }: StoredEvent): HintedChange | undefined {
  switch (type) {
    case 'message.new':
      return { type, userId: payload.message.userId }
    case 'channel.member_joined':
    case 'channel.member_left':
      return { type, userId: payload.userId }
    case 'message.deleted':
    case 'channel.updated':
    case 'channel.deleted':
      return { type }
    default:
      return undefined
  }
}

/** The hint with its change, as the node of the event handles it for the users of all nodes. */
export const withAnnouncer = (
  { change, ...hint }: EventHint,
  { userFanout }: Pick<Consequences, 'userFanout'>,
): EventHint => {
  if (change?.type === 'channel.updated')
    return { ...hint, change: userFanout.withAnnouncer(change) }
  return { ...hint, ...(change && { change }) }
}

/**
 * The hint for other nodes. A change that this node counts for all is left out: then the hint goes
 * only to nodes that follow the topic, with the event, so that they need not read it from the log.
 */
export const sentHint = (
  { change, ...hint }: EventHint,
  { event, broker }: { event: StoredEvent; broker: Pick<Broker, 'hasPeers'> },
): EventHint => {
  if (change !== undefined && !COUNTED.has(change.type)) return { ...hint, change }
  const { type, envelope, messageId } = event
  return broker.hasPeers()
    ? { ...hint, event: { type, envelope, messageId, at: Date.now() } }
    : hint
}
const COUNTED = new Set(['message.new', 'message.deleted', 'channel.member_joined'])

/**
 * A note as JSON. If a hint is longer than allowed, its event is left out, to be read from the log.
 */
export function lineOf(note: NodeNote, mostBytes: number) {
  const line = JSON.stringify(note)
  if (note.kind !== 'hint' || !note.event || Buffer.byteLength(line) <= mostBytes) return line
  return JSON.stringify({ ...note, event: undefined })
}

type Consequences = {
  unread: UnreadNotifier
  userFanout: UserFanout
  /** Called with a channel whose counts may have changed. */
  /** Called with each event that changes what users have not read. */
  onCounted: UnreadNotifier['markDirty']
}

/** Applies a hinted change to the users that it concerns. */
export function applyHint(
  { topic, offset, change }: EventHint,
  { unread, userFanout, onCounted }: Consequences,
) {
  const channel = parseTopic(topic)
  if (!change || channel?.kind !== 'chat') return
  const { appId, channelId } = channel
  switch (change.type) {
    case 'message.new':
      return onCounted(channelId, { offset, author: change.userId })
    case 'message.deleted':
      return onCounted(channelId, { offset, isDeletion: true })
    case 'channel.member_joined':
      return onCounted(channelId, { offset })
    case 'channel.member_left':
      return unread.memberLeft({ appId, userId: change.userId ?? '' })
    case 'channel.deleted':
      return unread.channelDeleted(channelId)
    case 'channel.updated':
      return userFanout.channelUpdated(topic, offset, change)
  }
}
