import type { ShownChannels } from '../snapshot-source.ts'

/** Forgets all channels: they are of another epoch, or of another app. Topics stay subscribed. */
export function startOver({ channels, lists, unread, onChange }: ShownChannels) {
  channels.clear()
  for (const list of lists.values()) list.startOver()
  unread.total = 0
  onChange()
}
