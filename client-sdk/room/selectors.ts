import type { Outbox } from '../outbox.ts'
import type { UserSummary } from '../types.ts'
import { type Patch, patched } from './optimistic.ts'
import type { ChannelState, ChatMessage } from './reducer.ts'
import { rangeOf, type Stretch, shown } from './timeline.ts'

type Entries = ReturnType<Outbox['of']>

/**
 * The messages of a stretch as they are shown: the server's, under the user's own changes, and after them what is still
 * on its way. One that the server has by its `clientId` is not shown twice.
 */
export function fold(
  state: ChannelState,
  stretch: Stretch,
  { all, entries, me }: { all: readonly Patch[]; entries: Entries; me: UserSummary | undefined },
) {
  const facts = shown(state, stretch)
  const items = facts
    .map((fact) => patched(fact, all))
    .filter(({ deletedAt }) => deletedAt === null)
  if (!me) return items
  const { parentId } = stretch
  const arrived = new Set(
    [...state.messages.values()].flatMap((fact) =>
      fact.userId === me.id && fact.clientId ? [fact.clientId] : [],
    ),
  )
  const waiting = entries.filter(
    ({ outgoing }) =>
      !arrived.has(outgoing.clientId) && (parentId === undefined || outgoing.parentId === parentId),
  )
  return [...items, ...waiting.map((entry) => pending(entry, me))]
}

const drafts = new WeakMap<object, ChatMessage>()

/** A message on its way, as it is shown; the same object until something becomes of it. */
export function pending({ outgoing, error }: Entries[number], me: UserSummary): ChatMessage {
  const known = drafts.get(outgoing)
  if (known && known.error === error && known.userId === me.id) return known
  const { clientId, channelId, text, attachments, parentId = null, createdAt } = outgoing
  const draft: ChatMessage = {
    id: clientId,
    clientId,
    channelId,
    text,
    attachments,
    parentId,
    createdAt,
    updatedAt: createdAt,
    userId: me.id,
    user: me,
    seq: Number.POSITIVE_INFINITY,
    rev: 0,
    reactions: [],
    mentions: [],
    replyCount: 0,
    pinned: false,
    editedAt: null,
    deletedAt: null,
    status: error ? 'failed' : 'pending',
    error,
  }
  drafts.set(outgoing, draft)
  return draft
}

export const reach = (state: ChannelState, stretch: Stretch) => {
  const range = rangeOf(state, stretch)
  return {
    hasOlder: range !== null && range.from > 0,
    hasNewer: range !== null && range.to !== Number.POSITIVE_INFINITY,
  }
}

/** The new list, or the old one if nothing in it has changed. */
export function keep<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  return before.length === after.length && before.every((item, index) => item === after[index])
    ? before
    : after
}
