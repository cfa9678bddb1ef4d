import { parseTopic } from '@parley/contract'
import type { StoredEvent } from '../core/event-buffer.ts'
import type { EventHint } from './broker.ts'
import type { UnreadNotifier } from './unread.ts'
import type { UserFanout } from './user-fanout.ts'

/** What other nodes are sent for a durable event. */
export function hintOf({ topic, offset, type }: StoredEvent): EventHint {
  return { kind: 'hint', topic, offset, ...(type === 'channel.deleted' ? { isEnd: true } : {}) }
}

/** Applies what another node's event means to users of this one who do not follow the topic. */
export function applyHint({ topic, isEnd }: EventHint, unread: UnreadNotifier) {
  const channel = parseTopic(topic)
  if (isEnd && channel?.kind === 'chat') unread.channelDeleted(channel.channelId)
}

/**
 * Applies a durable event of this node to the users whom it concerns beyond its topic, on whichever
 * node they are. Who leaves a channel is told in their own topic.
 */
export function applyEvent(
  { topic, offset, type, payload }: StoredEvent,
  { unread, userFanout }: { unread: UnreadNotifier; userFanout: UserFanout },
) {
  const channel = parseTopic(topic)
  if (channel?.kind !== 'chat') return
  const { channelId } = channel
  switch (type) {
    case 'message.new':
      return unread.markDirty(channelId, { offset, author: payload.message.userId })
    case 'message.deleted':
      return unread.markDirty(channelId, { offset, isDeletion: true })
    case 'channel.member_joined':
      return unread.markDirty(channelId, { offset })
    case 'channel.deleted':
      return unread.channelDeleted(channelId)
    case 'channel.updated':
      return userFanout.channelUpdated(topic, offset)
  }
}
