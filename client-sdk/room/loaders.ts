import type { LiveContext } from '../catch-up.ts'
import type { Member } from '../types.ts'
import { facesOf, rename } from './profiles.ts'
import type { ChannelState, ReadPosition } from './reducer.ts'
import type { Load, Part } from './resources.ts'
import { addPage, edge, jump, rangeOf } from './timeline.ts'

const PAGE = 50
const MEMBERS = 1_000

export const threadPart = (parentId: string): Part => `thread:${parentId}`
export const stretchOf = (part: Part) =>
  part.startsWith('thread:') ? { parentId: part.slice('thread:'.length) } : {}

/** How each part of a channel is read, and how it goes into the state. */
export function loadOf({ api }: Pick<LiveContext, 'api'>, channelId: string) {
  const loads: Record<string, Load> = {
    main: async () => {
      const page = await api.messages.list({ channelId, limit: PAGE })
      return (state) => addPage(state, { ...page, where: 'newest' })
    },
    members: async () => {
      const members = await all((offset) =>
        api.members.list({ channelId, limit: MEMBERS, offset }).then((page) => page.members),
      )
      const found = new Map(members.map((member): [string, Member] => [member.userId, member]))
      const faces = facesOf(...members.map(({ user }) => user))
      return (state) => rename({ ...state, members: found }, faces)
    },
    reads: async () => {
      const members = await all((offset) =>
        api.receipts.status({ channelId, limit: MEMBERS, offset }).then((page) => page.members),
      )
      return (state) => ({
        ...state,
        reads: Object.fromEntries(
          members.map(({ userId, lastReadSeq }) => [
            userId,
            positionOf(state, userId, lastReadSeq),
          ]),
        ),
      })
    },
    pins: async () => {
      const { messages } = await api.pins.list({ channelId })
      return (state) => ({ ...state, pins: messages.map((pin) => newest(state, pin)) })
    },
  }
  const thread =
    (parentId: string): Load =>
    async () => {
      const ref = { channelId, messageId: parentId }
      const [page, parent] = await Promise.all([
        api.messages.replies({ ...ref, limit: PAGE }),
        api.messages.get(ref),
      ])
      return (state) =>
        addPage(addPage(state, { ...page, where: 'newest' }, { parentId }), {
          messages: [parent],
          hasMore: false,
          where: 'known',
        })
    }
  return (part: Part): Load => loads[part] ?? thread(stretchOf(part).parentId ?? '')
}

/** The next page of a stretch in one direction; undefined when there is none. */
export function loadMore(
  { api }: Pick<LiveContext, 'api'>,
  { channelId, part, side }: { channelId: string; part: Part; side: 'older' | 'newer' },
) {
  return (state: ChannelState): Load | undefined => {
    const stretch = stretchOf(part)
    const range = rangeOf(state, stretch)
    const from = edge(state, stretch, side)
    if (
      !range ||
      from === undefined ||
      (side === 'older' ? range.from === 0 : range.to === Number.POSITIVE_INFINITY)
    )
      return undefined
    const cursor = {
      channelId,
      limit: PAGE,
      ...(side === 'older' ? { before: from } : { after: from }),
    }
    return async () => {
      const { messages, hasMore } = await (stretch.parentId === undefined
        ? api.messages.list(cursor)
        : api.messages.replies({ ...cursor, messageId: stretch.parentId }))
      return (state) => addPage(state, { messages, hasMore, where: side }, stretch)
    }
  }
}

/** The messages around one, wherever it is. */
export function jumpTo(
  { api }: Pick<LiveContext, 'api'>,
  { channelId, messageId }: { channelId: string; messageId: string },
): Load {
  const ref = { channelId, limit: PAGE / 2 }
  return async () => {
    const [older, message, newer] = await Promise.all([
      api.messages.list({ ...ref, before: messageId }),
      api.messages.get({ channelId, messageId }),
      api.messages.list({ ...ref, after: messageId }),
    ])
    const range = {
      from: older.hasMore ? (older.messages[0] ?? message).seq : 0,
      to: newer.hasMore ? (newer.messages.at(-1) ?? message).seq : Number.POSITIVE_INFINITY,
    }
    return (state) =>
      jump(state, { messages: [...older.messages, message, ...newer.messages], range })
  }
}

/** When somebody read is told by events only. */
const positionOf = ({ reads }: ChannelState, userId: string, lastReadSeq: number): ReadPosition =>
  reads?.[userId]?.lastReadSeq === lastReadSeq
    ? (reads[userId] ?? { lastReadSeq, readAt: null })
    : { lastReadSeq, readAt: null }

/** A pin with what is known of its message by now. */
function newest<Pin extends { id: string; rev: number }>(
  { messages }: ChannelState,
  pin: Pin,
): Pin {
  const fact = messages.get(pin.id)
  return fact && fact.rev > pin.rev ? { ...pin, ...fact } : pin
}

async function all<T>(page: (offset: number) => Promise<T[]>): Promise<T[]> {
  const found: T[] = []
  for (;;) {
    const next = await page(found.length)
    found.push(...next)
    if (next.length < MEMBERS) return found
  }
}
