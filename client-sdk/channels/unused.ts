import type { ShownChannels } from '../backing-store/snapshot-source.ts'
import type { SharedContext } from '../context.ts'

type Records = {
  restorable: Pick<ShownChannels, 'channels' | 'lists'>
  context: Pick<SharedContext, 'isOpen'>
  release: () => void
}

/**
 * The channels whose records no list shows and no open room needs. None while a list is loading: it
 * may be about to show them, with an answer older than what is known. They are released after that.
 */
export function unused({ restorable, context, release }: Records): string[] {
  const { channels, lists } = restorable
  const listed = new Set<string>()
  for (const { currentLoad, items } of lists.values()) {
    if (currentLoad) {
      currentLoad.then(release, release)
      return []
    }
    for (const { id } of items) listed.add(id)
  }
  return [...channels.keys()].filter((id) => !listed.has(id) && !context.isOpen(id))
}
