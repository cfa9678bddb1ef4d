import { setTimeout as wait } from 'node:timers/promises'
import { type Envelope, topics } from '@parley/contract'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Db } from '../../db/client.ts'
import type {
  Announced,
  Announcer,
  Fanout,
  NodeNote,
  PresenceNote,
  ProfileChange,
  ProfileNote,
} from '../broker/index.ts'
import type { Sessions } from '../sessions.ts'
import { timings } from '../timings.ts'
import { type ChannelEventRef, createChannelCopies, type MissedEvent } from './channel-copies.ts'
import { createCoMembers } from './co-members.ts'
import { createFanoutSender, type NodeFanout } from './notes.ts'
import { FanoutOrder } from './order.ts'
import type { Connected, Reach } from './reach.ts'

/** For how long a node that stops waits for its fan-outs. */
const STOP_MS = 1_000

/** Queries and senders that the fan-out uses. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
  /** The least pause between two readings of a user's co-members. */
  coMembersPauseMs?: number
}
type NodesOptions = {
  /** Whether any user may be connected, here or elsewhere. */
  hasReceivers: () => boolean
  send: (note: NodeNote) => void
  /** Called when the change could not be sent to the users of this node. */
  onPresenceLost: (change: PresenceNote) => void
  /** Called when the new name or image could not be sent to them. */
  onProfileLost: (change: ProfileChange) => void
  /** Called when a copy of this event could not be sent to them. */
  onCopyLost: (event: ChannelEventRef) => void
}

export type UserFanout = ReturnType<typeof createUserFanout>

/**
 * Sends users events in their own topics about what others do. The node where something happened
 * announces it to all, looks up the recipients, and sends each node its own. If it cannot, each
 * node looks up its own.
 */
export function createUserFanout(options: UserFanoutOptions & NodesOptions) {
  const { db, nodeId, sessions, broadcast, report, hasReceivers, send } = options
  const pauseMs = options.coMembersPauseMs ?? timings.coMembersPauseMs
  const order = new FanoutOrder()
  const sender = createFanoutSender(send)
  const coMembersOf = {
    forAll: createCoMembers({ db, nodeId: null, pauseMs }),
    forOwn: createCoMembers({ db, nodeId, pauseMs }),
  }

  const sendToOwn = (fanout: Fanout, userIds: string[]) => {
    if (order.isOutdated(fanout)) return false
    order.sent(fanout)
    const userTopics = userIds.map((userId) => topics.user(fanout.appId, userId))
    broadcast(userTopics, fanout.event)
    return true
  }
  /** Sends it to the nodes of other users; returns the users of this node. */
  const sendToOthers = (fanout: Fanout, users: Connected<UserRef>[]) => {
    const own = users.filter((user) => user.nodeId === nodeId)
    const others = users.filter((user) => user.nodeId !== nodeId)
    if (others.length > 0) sender.send({ fanout, users: others })
    return own.map(({ userId }) => userId)
  }
  const sendToCoMembers = async (user: UserRef, fanout: Fanout) => {
    const own = sendToOthers(fanout, await coMembersOf[reachOf(fanout)](user))
    // The row of the user may be gone already.
    sendToOwn(fanout, [user.userId, ...own.filter((userId) => userId !== user.userId)])
  }
  const isOwn = (announcer: Announcer | undefined) => announcer?.id === nodeId
  const reachOf = ({ announcer }: Announced): Reach => (isOwn(announcer) ? 'forAll' : 'forOwn')
  /** Fan-outs that this node has announced and not sent yet, to be left to each node. */
  const pending = new Map<() => void, Promise<void>>()

  const copiesOf = (reach: Reach) =>
    createChannelCopies({
      db,
      nodeId: reach === 'forAll' ? null : nodeId,
      send: (fanout, users) => sendToOwn(fanout, sendToOthers(fanout, users)),
      onFailure: (error, { topic, offset }) => {
        report(error, 'user fan-out failed')
        options.onCopyLost({ topic, offset })
        if (reach === 'forAll') leaveCopyToEach({ topic, offset })
      },
    })
  const leaveCopyToEach = ({ topic, offset }: ChannelEventRef) =>
    send({ kind: 'hint', topic, offset, change: { type: 'channel.updated' } })
  const copies = { forAll: copiesOf('forAll'), forOwn: copiesOf('forOwn') }

  const isElsewhere = ({ announcer }: Announced) =>
    announcer ? !isOwn(announcer) : sessions.isEmpty

  /**
   * Sends a change to the co-members of a user in the background, unless another node does. If this
   * node cannot reach all, it leaves that to each, unless a newer change followed from another.
   */
  const sendLater = (ref: UserRef, { event, announced, subject, offset, ...on }: Announcement) => {
    const { announcer, failed } = announced
    if (failed) order.record(subject, failed)
    order.record(subject, announcer)
    if (isElsewhere(announced)) return
    const leaveToEach = () => {
      if (announcer && !order.isFollowed(subject, announcer)) on.leaveToEach(announcer)
    }
    const sending = sendToCoMembers(ref, { appId: ref.appId, event, subject, offset, announcer })
      .catch((error: unknown) => {
        report(error, 'user fan-out failed')
        leaveToEach()
        on.lost()
      })
      .finally(() => pending.delete(leaveToEach))
    pending.set(leaveToEach, sending)
  }
  let announcements = 0

  return {
    /** The change, as this node announces it. */
    withAnnouncer: <Change extends object>(change: Change): Change & Announced => {
      if (!hasReceivers()) return change
      announcements += 1
      return { ...change, announcer: { id: nodeId, number: announcements } }
    },
    /** Whether another node failed to send this change, and newer ones have followed. */
    isOutdated: (note: PresenceNote | ProfileNote) =>
      note.failed !== undefined && order.isFollowed(subjectOf(note), note.failed),
    presenceChanged: (change: PresenceNote) => {
      const { appId, userId, isOnline, lastActiveAt, version } = change
      const type = isOnline ? 'presence.online' : 'presence.offline'
      sendLater(
        { appId, userId },
        {
          event: { type, payload: { userId, lastActiveAt, version } },
          announced: change,
          subject: subjectOf(change),
          leaveToEach: (failed) => send({ ...change, announcer: undefined, failed }),
          lost: () => options.onPresenceLost(change),
        },
      )
    },
    profileChanged: (change: ProfileChange) => {
      const { appId, user, version } = change
      sendLater(
        { appId, userId: user.id },
        {
          event: { type: 'user.updated', payload: { user, version } },
          announced: change,
          subject: subjectOf({ kind: 'profile', ...change }),
          offset: version,
          leaveToEach: (failed) =>
            send({ kind: 'profile', ...change, announcer: undefined, failed }),
          lost: () => options.onProfileLost(change),
        },
      )
    },
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number, announced: Announced = {}) => {
      const reach = reachOf(announced)
      if (reach === 'forOwn' && order.wasLaterSent(topic, offset)) return
      if (!isElsewhere(announced)) void copies[reach].copy(topic, offset)
    },
    /** Sends members on this node copies of events that they may have missed. */
    copyMissed: async (events: MissedEvent[]) => {
      if (sessions.isEmpty) return
      const missed = events.filter(({ topic, offset }) => !order.wasLaterSent(topic, offset))
      await copies.forOwn.copyMissed(missed)
    },
    /** Another node has looked up the recipients on this one. Returns whether they were sent it. */
    receive: ({ fanout, userIds }: NodeFanout) => sendToOwn(fanout, userIds),
    /** Waits for fan-outs under way. Those that take longer are left to each node. */
    stop: async () => {
      const all = Promise.all(pending.values())
      await Promise.race([all, wait(STOP_MS, undefined, { ref: false })])
      sender.flush()
      for (const leaveToEach of pending.keys()) leaveToEach()
      for (const event of copies.forAll.uncopied()) leaveCopyToEach(event)
    },
  }
}

type Announcement = {
  event: Envelope
  announced: Announced
  subject: string
  offset?: number | undefined
  /** Announces the change again, so that each node looks up its own users. */
  leaveToEach: (failed: Announcer) => void
  /** Called when the change could not be sent to the users of this node. */
  lost: () => void
}

/** The subject of a fan-out; a later one of the same subject replaces it. */
const subjectOf = (note: PresenceNote | ProfileNote) =>
  note.kind === 'presence'
    ? `presence ${userKey(note)}`
    : `profile ${userKey({ appId: note.appId, userId: note.user.id })}`
