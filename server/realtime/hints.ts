import { parseTopic } from '@parley/contract'
import type { StoredEvent } from '../core/event-buffer.ts'
import type { Change, Hint } from './broker.ts'
import type { UnreadNotifier } from './unread.ts'
import type { createUserFanout } from './user-fanout.ts'

/** What a durable event changes for users beyond its own topic; undefined for most. */
function changeOf(event: StoredEvent): Change | undefined {
  if (event.type === 'message.new')
    return { type: event.type, userId: event.payload.message.userId }
  if (event.type === 'channel.member_joined' || event.type === 'channel.member_left')
    return { type: event.type, userId: event.payload.userId }
  return event.type === 'message.deleted' ||
    event.type === 'channel.updated' ||
    event.type === 'channel.deleted'
    ? { type: event.type }
    : undefined
}

/** What other nodes are told of a durable event. */
export function hintOf(event: StoredEvent): Hint {
  const { topic, offset } = event
  const change = changeOf(event)
  return { kind: 'hint', topic, offset, ...(change ? { change } : {}) }
}

type Concerned = { unread: UnreadNotifier; audience: ReturnType<typeof createUserFanout> }

/** Passes the change of such a hint on to those of this node's users whom it concerns. */
export function applyChange({ topic, offset, change }: Hint, { unread, audience }: Concerned) {
  if (!change) return
  const channel = parseTopic(topic)
  if (channel?.kind !== 'chat') return
  const { appId, channelId } = channel
  if (change.type === 'message.new') unread.mark(channelId, { offset, author: change.userId })
  if (change.type === 'message.deleted' || change.type === 'channel.member_joined')
    unread.mark(channelId, { offset })
  if (change.type === 'channel.member_left') unread.left({ appId, userId: change.userId ?? '' })
  if (change.type === 'channel.deleted') unread.gone(channelId)
  if (change.type === 'channel.updated') audience.copy(topic, offset)
}
