import type { ShownChannels } from '../backing-store/snapshot-source.ts'

/** Forgets all channels: they are of another epoch, or of another app. */
export function startOver({ channels, lists, unread, remove }: ShownChannels) {
  for (const list of lists.values()) list.startOver()
  unread.total = 0
  remove(...channels.keys())
}
