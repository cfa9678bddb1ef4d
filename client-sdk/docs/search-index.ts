import { addressOf } from '../console/route.ts'
import type { Documents } from './documents.ts'
import { isInside, sections } from './guides.ts'

/** A page, or a part of a guide, that a search may find. */
export type Entry = {
  kind: 'API' | 'Event' | 'Guide'
  title: string
  detail: string
  address: string
  /** Other words that find it. */
  text: string
  /** Found after all others. */
  isLast?: boolean
}
const MOST_FOUND = 30
/** More than the words of any query have together. */
const LAST = 1_000_000

export function createIndex({ nouns, topics }: Documents): Entry[] {
  const operations = nouns.flatMap(({ name, operations }) =>
    operations.map(
      ({ operationId, summary, description = '', method, path }): Entry => ({
        kind: 'API',
        title: summary,
        detail: `${method} ${path}`,
        address: addressOf(['api', name, operationId]),
        text: `${operationId} ${description}`,
      }),
    ),
  )
  const events = topics.flatMap((topic) =>
    topic.events.map(
      ({ name, summary }): Entry => ({
        kind: 'Event',
        title: name,
        detail: topic.title,
        address: addressOf(['events', topic.id, name]),
        text: summary,
      }),
    ),
  )
  const guides = sections().map(
    ({ guide, heading, anchor, text }): Entry => ({
      kind: 'Guide',
      title: heading,
      detail: guide.title,
      address: addressOf(['guides', guide.name, anchor]),
      text,
      isLast: isInside(guide),
    }),
  )
  return [...operations, ...events, ...guides]
}

/** The entries with all the words that are searched for; those with them in their titles first. */
export function find(index: readonly Entry[], query: string): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found = index.flatMap((entry) => {
    const ranks = words.map((word) => rankOf(entry, word))
    const rank = ranks.reduce((sum, next) => sum + next, entry.isLast ? LAST : 0)
    return Number.isFinite(rank) ? [{ entry, rank }] : []
  })
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST_FOUND)
    .map(({ entry }) => entry)
}

/** 0 is the best; infinite if the word is nowhere in the entry. */
function rankOf({ title, detail, text }: Entry, word: string) {
  const name = title.toLowerCase()
  if (name.startsWith(word)) return 0
  if (name.includes(word)) return 1
  if (detail.toLowerCase().includes(word)) return 3
  return text.toLowerCase().includes(word) ? 6 : Number.POSITIVE_INFINITY
}
