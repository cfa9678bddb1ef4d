import { setTimeout as wait } from 'node:timers/promises'
import { type Envelope, topics } from '@parley/contract'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import type {
  Announced,
  News,
  NodeNote,
  PresenceNote,
  ProfileChange,
  ProfileNote,
  Teller,
} from './broker.ts'
import { type ChannelEvent, createChannelCopies, type MissedEvent } from './channel-copies.ts'
import { createCoMembers } from './co-members.ts'
import { NewestNews } from './newest-news.ts'
import type { Connected, Reach } from './reach.ts'
import type { Sessions } from './sessions.ts'
import { timings } from './timings.ts'
import { createToldSender, type Told } from './told-notes.ts'

/** For how long a node that stops waits for what it is telling. */
const STOP_MS = 1_000

/** What looks users up and sends them events. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
  /** How long the next reading of a user's co-members waits at least. */
  coMembersPauseMs?: number
}
type NodesOptions = {
  /** Whether any user may be connected, here or elsewhere. */
  isHeard: () => boolean
  send: (note: NodeNote) => void
  /** The change could not be sent to the users of this node. */
  onPresenceLost: (change: PresenceNote) => void
  /** The new name or image could not be sent to them. */
  onProfileLost: (change: ProfileChange) => void
  /** A copy of this event could not be sent to them. */
  onCopyLost: (event: ChannelEvent) => void
}

export type UserFanout = ReturnType<typeof createUserFanout>

/**
 * Sends users events in their own topics about what others do. The node where something happened
 * announces it to all, looks up whom it concerns, and tells each node which of its users they are.
 * If it cannot, each node looks up its own.
 */
export function createUserFanout(options: UserFanoutOptions & NodesOptions) {
  const { db, nodeId, sessions, broadcast, report, isHeard, send } = options
  const pauseMs = options.coMembersPauseMs ?? timings.coMembersPauseMs
  const newest = new NewestNews()
  const told = createToldSender(send)
  const coMembersOf = {
    forAll: createCoMembers({ db, nodeId: null, pauseMs }),
    forOwn: createCoMembers({ db, nodeId, pauseMs }),
  }

  const tellOwn = (news: News, userIds: string[]) => {
    if (newest.isOutdated(news)) return false
    newest.told(news)
    const userTopics = userIds.map((userId) => topics.user(news.appId, userId))
    broadcast(userTopics, news.event)
    return true
  }
  const tell = (news: News, users: Connected<UserRef>[]) => {
    const own = users.filter((user) => user.nodeId === nodeId)
    const others = users.filter((user) => user.nodeId !== nodeId)
    if (others.length > 0) told.tell({ news, users: others })
    return own.map(({ userId }) => userId)
  }
  const tellCoMembers = async (user: UserRef, news: News) => {
    const own = tell(news, await coMembersOf[reachOf(news)](user))
    // The row of the user may be gone already.
    tellOwn(news, [user.userId, ...own.filter((userId) => userId !== user.userId)])
  }
  const isOwn = (teller: Teller | undefined) => teller?.id === nodeId
  const reachOf = ({ teller }: Announced): Reach => (isOwn(teller) ? 'forAll' : 'forOwn')
  /** What this node has announced and not yet told, to leave it to each. */
  const pending = new Map<() => void, Promise<void>>()

  const copiesOf = (reach: Reach) =>
    createChannelCopies({
      db,
      nodeId: reach === 'forAll' ? null : nodeId,
      tell: (news, users) => tellOwn(news, tell(news, users)),
      onFailure: (error, { topic, offset }) => {
        report(error, 'user fan-out failed')
        options.onCopyLost({ topic, offset })
        if (reach === 'forAll') leaveCopyToEach({ topic, offset })
      },
    })
  const leaveCopyToEach = ({ topic, offset }: ChannelEvent) =>
    send({ kind: 'hint', topic, offset, change: { type: 'channel.updated' } })
  const copies = { forAll: copiesOf('forAll'), forOwn: copiesOf('forOwn') }

  const isElsewhere = ({ teller }: Announced) => (teller ? !isOwn(teller) : sessions.isEmpty)

  /**
   * Tells the co-members of a user in the background, unless another node does. If this node cannot
   * tell all, it leaves that to each, unless newer news have followed: these are told by another.
   */
  const tellLater = (ref: UserRef, { event, announced, subject, offset, ...on }: Telling) => {
    const { teller, failed } = announced
    if (failed) newest.announced(subject, failed)
    newest.announced(subject, teller)
    if (isElsewhere(announced)) return
    const leaveToEach = () => {
      if (teller && !newest.isFollowed(subject, teller)) on.leaveToEach(teller)
    }
    const telling = tellCoMembers(ref, { appId: ref.appId, event, subject, offset, teller })
      .catch((error: unknown) => {
        report(error, 'user fan-out failed')
        leaveToEach()
        on.lost()
      })
      .finally(() => pending.delete(leaveToEach))
    pending.set(leaveToEach, telling)
  }
  let announcements = 0

  return {
    /** The change, as this node announces it. */
    announced: <Change extends object>(change: Change): Change & Announced => {
      if (!isHeard()) return change
      announcements += 1
      return { ...change, teller: { id: nodeId, number: announcements } }
    },
    /** Whether another node could not tell this change, and newer ones have followed. */
    isOutdated: (note: PresenceNote | ProfileNote) =>
      note.failed !== undefined && newest.isFollowed(subjectOf(note), note.failed),
    presenceChanged: (change: PresenceNote) => {
      const { appId, userId, isOnline, lastActiveAt } = change
      const type = isOnline ? 'presence.online' : 'presence.offline'
      tellLater(
        { appId, userId },
        {
          event: { type, payload: { userId, lastActiveAt } },
          announced: change,
          subject: subjectOf(change),
          leaveToEach: (failed) => send({ ...change, teller: undefined, failed }),
          lost: () => options.onPresenceLost(change),
        },
      )
    },
    profileChanged: (change: ProfileChange) => {
      const { appId, user, version } = change
      tellLater(
        { appId, userId: user.id },
        {
          event: { type: 'user.updated', payload: { user, version } },
          announced: change,
          subject: subjectOf({ kind: 'profile', ...change }),
          offset: version,
          leaveToEach: (failed) => send({ kind: 'profile', ...change, teller: undefined, failed }),
          lost: () => options.onProfileLost(change),
        },
      )
    },
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number, announced: Announced = {}) => {
      const reach = reachOf(announced)
      if (reach === 'forOwn' && newest.wasLaterTold(topic, offset)) return
      if (!isElsewhere(announced)) void copies[reach].copy(topic, offset)
    },
    /** Sends members on this node copies of events that they may not have been told of. */
    copyMissed: async (events: MissedEvent[]) => {
      if (sessions.isEmpty) return
      const missed = events.filter(({ topic, offset }) => !newest.wasLaterTold(topic, offset))
      await copies.forOwn.copyMissed(missed)
    },
    /** Another node has looked up whom of this one the news concern. Returns whether it is told. */
    receive: ({ news, userIds }: Told) => tellOwn(news, userIds),
    /** Waits for what is being told. What takes longer, each node looks up for its own users. */
    stop: async () => {
      const all = Promise.all(pending.values())
      await Promise.race([all, wait(STOP_MS, undefined, { ref: false })])
      told.flush()
      for (const leaveToEach of pending.keys()) leaveToEach()
      for (const event of copies.forAll.uncopied()) leaveCopyToEach(event)
    },
  }
}

type Telling = {
  event: Envelope
  announced: Announced
  subject: string
  offset?: number | undefined
  /** Announces the change again, for each node to look up its own users. */
  leaveToEach: (failed: Teller) => void
  /** The change could not be sent to the users of this node. */
  lost: () => void
}

/** What news are about: later ones of the same subject replace them. */
const subjectOf = (note: PresenceNote | ProfileNote) =>
  note.kind === 'presence'
    ? `presence ${userKey(note)}`
    : `profile ${userKey({ appId: note.appId, userId: note.user.id })}`
