import { isChatError } from '../error.ts'
import type { Message, PinnedMessage, UserApi } from '../types.ts'
import { upsertMessages } from './reducer.ts'
import type { ChannelState, Timeline } from './state.ts'
import { PAGE_SIZE, withWindow } from './timeline.ts'

/**
 * What is loaded by calls of its own: jumps, users for whom no other call asks, and what the shared
 * call has no room for, or does not return to readers who are no members.
 */

const MEMBERS_PER_PAGE = 1_000

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
