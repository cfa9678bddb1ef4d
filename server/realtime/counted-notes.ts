import type { CountedNote } from './broker.ts'
import { inChunks } from './chunks.ts'

const CHANNELS_PER_NOTE = 1_000

type CountedNotesOptions = { pauseMs: number; send: (note: CountedNote) => void }

/**
 * Tells the other nodes which channels this one has counted for all, at most once in a pause. What
 * nobody has counted they count themselves, for their own users.
 */
export function createCountedNotes({ pauseMs, send }: CountedNotesOptions) {
  let offsets = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const channels = [...offsets]
    offsets = new Map()
    for (const some of inChunks(channels, CHANNELS_PER_NOTE))
      send({ kind: 'counted', channels: some })
  }
  return {
    add: (counted: Iterable<[channelId: string, { offset: number }]>) => {
      for (const [channelId, { offset }] of counted)
        offsets.set(channelId, Math.max(offset, offsets.get(channelId) ?? 0))
      timer ??= setTimeout(flush, pauseMs).unref()
    },
    flush,
  }
}
