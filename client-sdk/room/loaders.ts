import type { ClientContext } from '../context.ts'
import { isChatError } from '../error.ts'
import type { Member, PinnedMessage, UserApi } from '../types.ts'
import { applyProfiles, profilesOf } from './profiles.ts'
import { upsertMessages } from './reducer.ts'
import type { Loader, ResourceName } from './resources.ts'
import type { ChannelState, ReadPosition, Timeline } from './state.ts'
import { addPage, cursorOf, type Direction, moveWindow, type Page, windowOf } from './timeline.ts'

const PAGE_SIZE = 50
const MEMBERS_PER_PAGE = 1_000
const THREAD_PREFIX = 'thread:'
/** The newest messages by a call of their own: for use while a shared call is being applied. */
export const NEWEST_ALONE: ResourceName = 'newest'

export const threadResource = (parentId: string): ResourceName => THREAD_PREFIX + parentId
/** The messages that are no replies. */
export const ROOTS: ResourceName = 'roots'
/** The timeline of a resource: a thread's, or the channel's with or without replies. */
export function timelineOf(name: ResourceName): Timeline {
  if (name === ROOTS) return { replies: false }
  return name.startsWith(THREAD_PREFIX) ? { parentId: name.slice(THREAD_PREFIX.length) } : {}
}

/**
 * The loader of each resource of a channel. Messages, members and reads come with those of other
 * rooms in one call; if there is no room for them there, in calls of their own.
 */
export function createLoaders({ api, catchUp }: ClientContext, channelId: string) {
  const putNewest =
    (page: Pick<Page, 'messages' | 'hasMore'>, timeline?: Timeline) => (state: ChannelState) =>
      addPage(state, { ...page, position: 'newest' }, timeline)
  const loadNewest = async () => putNewest(await api.messages.list({ channelId, limit: PAGE_SIZE }))
  const loaders: Record<string, Loader> = {
    messages: async () => {
      const { page } = await catchUp.load(channelId, 'pages')
      return page ? putNewest(page) : loadNewest()
    },
    [NEWEST_ALONE]: () => loadNewest(),
    [ROOTS]: async () => {
      const roots: { replies: false } = { replies: false }
      return putNewest(await api.messages.list({ channelId, limit: PAGE_SIZE, ...roots }), roots)
    },
    members: async () => {
      const { members: shared } = await catchUp.load(channelId, 'members')
      const members = shared ?? (await loadAll((page) => api.members.list({ channelId, ...page })))
      const byId = new Map(members.map((member): [string, Member] => [member.userId, member]))
      const profiles = profilesOf(...members.map(({ user }) => user))
      return (state) => applyProfiles({ ...state, members: byId }, profiles)
    },
    reads: async () => {
      const { members: shared } = await catchUp.load(channelId, 'members')
      const members =
        shared ?? (await loadAll((page) => api.receipts.status({ channelId, ...page })))
      return (state) => ({
        ...state,
        reads: Object.fromEntries(
          members.map(({ userId, lastReadSeq }) => [
            userId,
            readPosition(state, userId, lastReadSeq),
          ]),
        ),
      })
    },
    pins: async () => {
      const pins = await loadPins(api, channelId)
      const asMessage = ({ pinnedBy: _, pinnedAt: __, ...message }: PinnedMessage) => message
      return (state) => upsertMessages({ ...state, pins }, pins.map(asMessage))
    },
  }
  const threadLoader =
    (parentId: string): Loader =>
    async () => {
      const ref = { channelId, messageId: parentId }
      const [page, parent] = await Promise.all([
        api.messages.replies({ ...ref, limit: PAGE_SIZE }),
        // A thread stays although its first message was deleted.
        api.messages.get(ref).catch((error) => {
          if (!isChatError(error, 'NOT_FOUND')) throw error
        }),
      ])
      return (state) => upsertMessages(putNewest(page, { parentId })(state), parent ? [parent] : [])
    }
  return (name: ResourceName): Loader =>
    loaders[name] ?? threadLoader(timelineOf(name).parentId ?? '')
}

/** Loads the next page of a timeline in one direction; undefined if there is none. */
export function createPageLoader(
  { api }: ClientContext,
  {
    channelId,
    timeline,
    direction,
  }: { channelId: string; timeline: Timeline; direction: Direction },
) {
  return (state: ChannelState): Loader | undefined => {
    const isOlder = direction === 'older'
    const window = windowOf(state, timeline)
    const cursor = cursorOf(state, timeline, direction)
    const edge = isOlder ? window?.from : window?.to
    const end = isOlder ? 0 : Number.POSITIVE_INFINITY
    if (edge === undefined || edge === end || cursor === undefined) return undefined
    const { parentId, replies } = timeline
    const args = { channelId, limit: PAGE_SIZE, [isOlder ? 'before' : 'after']: cursor }
    return async () => {
      const page = await (parentId === undefined
        ? api.messages.list({ ...args, replies })
        : api.messages.replies({ ...args, messageId: parentId }))
      return (state) => addPage(state, { ...page, position: direction, edge }, timeline)
    }
  }
}

/** Loads the messages around one, anywhere in the channel. */
export function createJumpLoader(
  { api }: ClientContext,
  { channelId, messageId, timeline }: { channelId: string; messageId: string; timeline: Timeline },
): Loader {
  const ref = { channelId, limit: PAGE_SIZE / 2, replies: timeline.replies }
  return async () => {
    const [older, message, newer] = await Promise.all([
      api.messages.list({ ...ref, before: messageId }),
      api.messages.get({ channelId, messageId }),
      api.messages.list({ ...ref, after: messageId }),
    ])
    const messages = [...older.messages, message, ...newer.messages]
    const span = {
      from: older.hasMore ? (older.messages[0] ?? message).seq : 0,
      to: newer.hasMore ? (newer.messages.at(-1) ?? message).seq : Number.POSITIVE_INFINITY,
    }
    return (state) => moveWindow(state, { messages, span, timeline })
  }
}

/** Only events contain the time of a read: it is kept while the position is the same. */
function readPosition({ reads }: ChannelState, userId: string, lastReadSeq: number): ReadPosition {
  const known = reads?.[userId]
  return known?.lastReadSeq === lastReadSeq ? known : { lastReadSeq, readAt: null }
}

type PageArgs = { limit: number; cursor: string | undefined }
type PageOfMembers<Each> = { members: Each[]; nextCursor: string | null }

/** Pages end early where metadata fills them. */
async function loadAll<Each>(loadPage: (args: PageArgs) => Promise<PageOfMembers<Each>>) {
  const all: Each[] = []
  let cursor: string | undefined
  do {
    const page = await loadPage({ limit: MEMBERS_PER_PAGE, cursor })
    all.push(...page.members)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return all
}

async function loadPins(api: UserApi, channelId: string) {
  const pins: PinnedMessage[] = []
  let page: { messages: PinnedMessage[]; more?: true }
  do {
    page = await api.pins.list({ channelId, offset: pins.length })
    pins.push(...page.messages)
  } while (page.more)
  // Messages pinned meanwhile have moved the last ones to the next page.
  return [...new Map(pins.map((pin) => [pin.id, pin])).values()]
}
