import { isId } from '../channels/record-load.ts'
import type { ClientContext } from '../context.ts'
import type { Member, Message, PinnedMessage } from '../generated/types.ts'
import type { RoomPart } from '../realtime/catch-up.ts'
import type { Beyond, Jump, ListOfMembers } from './own-calls.ts'
import { applyProfiles, profilesOf } from './profiles.ts'
import { upsertMessages } from './reducer.ts'
import type { Loader, ResourceName } from './resources.ts'
import type { ChannelState, ReadPosition, Timeline } from './state.ts'
import { addNewest, type Page } from './timeline.ts'

const THREAD_PREFIX = 'thread:'
export const threadResource = (parentId: string): ResourceName => THREAD_PREFIX + parentId
/** The messages that are no replies. */
export const ROOTS: ResourceName = 'roots'
const ONLY_ROOTS: { replies: false } = { replies: false }
/** The timeline of a resource: a thread's, or the channel's with or without replies. */
export function timelineOf(name: ResourceName): Timeline {
  if (name === ROOTS) return ONLY_ROOTS
  return name.startsWith(THREAD_PREFIX) ? { parentId: name.slice(THREAD_PREFIX.length) } : {}
}

/** Only some rooms need this code, so it is a file of its own. */
const alone = () => import('./own-calls.ts')

/**
 * The loader of each resource of a channel. All come with those of other rooms in one call; if
 * there is no room for them there, in calls of their own. `find` returns a message that is loaded.
 */
export function createLoaders(
  { api, catchUp }: ClientContext,
  channelId: string,
  find: (messageId: string) => Message | undefined,
) {
  const shared = async (part: RoomPart, id?: string) => {
    const answer = await catchUp.load(channelId, part, id)
    // When it is needed, the application may have been deployed again, without this file. Not
    // before there is a network: some browsers never ask again for a file that failed.
    alone().catch(() => {})
    return answer
  }
  const listNewest = async (timeline: Timeline = {}) =>
    (await alone()).loadPage(api, { channelId, timeline })
  /** The members from the shared call, or else all that a list of the channel's has. */
  const membersOr = async <Each>(list: ListOfMembers<Each>) =>
    (await shared('members')).members ?? (await (await alone()).loadAll(channelId, list))
  const loaders: Record<string, Loader> = {
    messages: async () => putNewest((await shared('pages')).page ?? (await listNewest())),
    [ROOTS]: async () =>
      putNewest((await shared('roots')).roots ?? (await listNewest(ONLY_ROOTS)), ONLY_ROOTS),
    members: async () => {
      const members = await membersOr(api.members.list)
      const byId = new Map(members.map((member): [string, Member] => [member.userId, member]))
      const profiles = profilesOf(...members.map(({ user }) => user))
      return (state) => applyProfiles({ ...state, members: byId }, profiles)
    },
    reads: async () => {
      const members = await membersOr(api.receipts.status)
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
      const pins = (await shared('pins')).pins ?? (await (await alone()).loadPins(api, channelId))
      const asMessage = ({ pinnedBy: _, pinnedAt: __, ...message }: PinnedMessage) => message
      return (state) => upsertMessages({ ...state, pins }, pins.map(asMessage))
    },
  }
  const threadLoader =
    (parentId = ''): Loader =>
    async () => {
      const { threads } = isId(parentId) ? await shared('threads', parentId) : {}
      const ref = { channelId, parentId, find }
      const thread = threads?.[parentId] ?? (await (await alone()).loadThread(api, ref))
      const put = putNewest(thread, { parentId })
      return (state) => upsertMessages(put(state), thread.parent ? [thread.parent] : [])
    }
  return (name: ResourceName): Loader => loaders[name] ?? threadLoader(timelineOf(name).parentId)
}

const putNewest = (page: Page, timeline?: Timeline) => (state: ChannelState) =>
  addNewest(state, page, timeline)

/** Loads the next page of a timeline in one direction. */
export const createPageLoader =
  ({ api }: ClientContext, beyond: Beyond): Loader =>
  async () =>
    (await alone()).loadBeyond(api, beyond)

/** Loads the messages around one, anywhere in the channel. */
export const createJumpLoader =
  ({ api }: ClientContext, jump: Jump): Loader =>
  async () =>
    (await alone()).loadAround(api, jump)

/** Only events contain the time of a read: it is kept while the position is the same. */
function readPosition({ reads }: ChannelState, userId: string, lastReadSeq: number): ReadPosition {
  const known = reads?.[userId]
  return known?.lastReadSeq === lastReadSeq ? known : { lastReadSeq, readAt: null }
}
