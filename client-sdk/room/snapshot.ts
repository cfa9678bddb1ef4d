import type { RoomSnapshot } from '../backing-store/snapshot-source.ts'
import { OrderedMessages } from './ordered.ts'
import type { ChannelSync } from './sync.ts'
import { visibleMessages } from './timeline.ts'

/** How many messages a snapshot may have. */
const MAX_SNAPSHOT = 100

/** The newest messages of a channel, if they are up to date. */
export function snapshotOf({ state, currentAt }: ChannelSync): RoomSnapshot | undefined {
  const { mainWindow, rev } = state
  if (!currentAt || mainWindow?.to !== Number.POSITIVE_INFINITY) return undefined
  const messages = visibleMessages(state).slice(-MAX_SNAPSHOT)
  const from = messages.length < MAX_SNAPSHOT ? mainWindow.from : (messages[0]?.seq ?? 0)
  return { epoch: currentAt.epoch, rev, from, messages }
}

/** Shows what was stored, as stale, unless something has loaded. */
export function restoreRoom(sync: ChannelSync, { epoch, rev, from, messages }: RoomSnapshot) {
  // The user may not read it any more.
  if (!sync.isActive && sync.resources.get('messages').status === 'failed') return
  const mainWindow = { from, to: Number.POSITIVE_INFINITY }
  const stored = { rev, messages: OrderedMessages.of(messages), mainWindow }
  sync.restore(stored, { epoch, offset: rev })
}
