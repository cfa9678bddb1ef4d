import { isChatError } from '../calls/error.ts'
import { MEMBERS_PER_PAGE } from '../generated/limits.ts'
import type { Message, PinnedMessage, UserApi } from '../generated/types.ts'
import { upsertMessages } from './reducer.ts'
import type { ChannelState, ChatMessage, Timeline, TimelineWindow } from './state.ts'
import {
  type Direction,
  isOf,
  messagesInWindow,
  PAGE_SIZE,
  windowOf,
  withWindow,
} from './timeline.ts'

/**
 * Loads by calls of their own: jumps, users whom no other call asks for, and whatever does not fit
 * into the shared call or is not returned by an older server.
 */

type PageArgs = { channelId: string; limit: number; cursor: string | undefined }
export type ListOfMembers<Each> = (
  args: PageArgs,
) => Promise<{ members: Each[]; nextCursor: string | null }>

export async function loadAll<Each>(channelId: string, list: ListOfMembers<Each>) {
  const ofChannel = { channelId, limit: MEMBERS_PER_PAGE }
  const pages = await loadPages((cursor) => list({ ...ofChannel, cursor }))
  return pages.flatMap(({ members }) => members)
}

/** Pages end early where long names, images and metadata fill them. */
async function loadPages<Each extends { nextCursor: string | null }>(
  load: (cursor: string | undefined) => Promise<Each>,
) {
  const pages: Each[] = []
  let cursor: string | undefined
  do {
    const page = await load(cursor)
    pages.push(page)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return pages
}

export async function loadPins(api: UserApi, channelId: string) {
  const pins: PinnedMessage[] = []
  let page: { messages: PinnedMessage[]; more?: true }
  do {
    page = await api.pins.list({ channelId, offset: pins.length })
    pins.push(...page.messages)
  } while (page.more)
  // Messages pinned meanwhile have moved the last ones to the next page.
  return [...new Map(pins.map((pin) => [pin.id, pin])).values()]
}

/** A query joins ids by commas: one that contains a comma goes into a path. */
export async function loadUsers({ users }: UserApi, ids: string[]) {
  const joinable = ids.filter((id) => !id.includes(','))
  const single = ids.filter((id) => id.includes(','))
  const [pages, ...found] = await Promise.all([
    joinable.length > 0 ? loadPages((cursor) => users.list({ ids: joinable, cursor })) : [],
    ...single.map((userId) => users.get({ userId }).catch(ignoreUnknown)),
  ])
  return [...pages.flatMap((page) => page.users), ...found.flatMap((user) => user ?? [])]
}

function ignoreUnknown(error: unknown): undefined {
  if (!isChatError(error, 'NOT_FOUND')) throw error
}

type Thread = {
  channelId: string
  parentId: string
  /** Returns a message that is loaded. */
  find: (messageId: string) => Message | undefined
}

export async function loadThread(api: UserApi, { channelId, parentId, find }: Thread) {
  const ref = { channelId, messageId: parentId }
  const [page, parent] = await Promise.all([
    api.messages.replies({ ...ref, limit: PAGE_SIZE }),
    // A thread stays although its first message was deleted.
    find(parentId) ?? api.messages.get(ref).catch(ignoreUnknown),
  ])
  return { ...page, parent }
}

type PageQuery = { channelId: string; timeline: Timeline; before?: string; after?: string }

/** A page of a timeline: the newest, or the one before or after a message. */
export function loadPage({ messages }: UserApi, { timeline, ...query }: PageQuery) {
  const { parentId: messageId, replies } = timeline
  const args = { limit: PAGE_SIZE, ...query }
  return messageId === undefined
    ? messages.list({ ...args, replies })
    : messages.replies({ ...args, messageId })
}

/** The side of a timeline's window that was asked for, and the state at that time. */
export type Beyond = {
  state: ChannelState
  channelId: string
  timeline: Timeline
  direction: Direction
}

/**
 * The next page of a timeline in one direction: its messages are known, and the window extends over
 * them. If that has moved meanwhile, the two do not meet, and it stays.
 */
export async function loadBeyond(api: UserApi, { state, channelId, timeline, direction }: Beyond) {
  const isOlder = direction === 'older'
  const edgeOf = (window: TimelineWindow) => (isOlder ? window.from : window.to)
  const asked = windowOf(state, timeline)
  const all = messagesInWindow(state, timeline)
  const isOwn = (message: ChatMessage) => isOf(message, timeline)
  // It may be a deleted one.
  const cursor = (isOlder ? all.find(isOwn) : all.findLast(isOwn))?.id
  if (!asked || cursor === undefined) return (state: ChannelState) => state
  const query = { channelId, timeline, [isOlder ? 'before' : 'after']: cursor }
  const { messages, hasMore } = await loadPage(api, query)
  return (state: ChannelState) => {
    const window = windowOf(state, timeline)
    const known = upsertMessages(state, messages)
    if (!window || edgeOf(window) !== edgeOf(asked)) return known
    const end = isOlder ? 0 : Number.POSITIVE_INFINITY
    const last = messages.at(isOlder ? 0 : -1)
    const edge = hasMore ? (last?.seq ?? edgeOf(window)) : end
    return withWindow(known, timeline, { ...window, [isOlder ? 'from' : 'to']: edge })
  }
}

export type Jump = { channelId: string; messageId: string; timeline: Timeline }

/** The messages around one, anywhere in the channel. */
export async function loadAround(api: UserApi, { channelId, messageId, timeline }: Jump) {
  const ref = { channelId, limit: PAGE_SIZE / 2, replies: timeline.replies }
  const [older, message, newer] = await Promise.all([
    api.messages.list({ ...ref, before: messageId }),
    api.messages.get({ channelId, messageId }),
    api.messages.list({ ...ref, after: messageId }),
  ])
  const window = {
    from: older.hasMore ? (older.messages[0] ?? message).seq : 0,
    to: newer.hasMore ? (newer.messages.at(-1) ?? message).seq : Number.POSITIVE_INFINITY,
  }
  const messages = [...older.messages, message, ...newer.messages]
  return (state: ChannelState) => withWindow(upsertMessages(state, messages), timeline, window)
}
