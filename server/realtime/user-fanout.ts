import { type Envelope, topics } from '@parley/contract'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db } from '../db/client.ts'
import type { Announced, News, NodeNote, PresenceNote, ProfileChange, ToldNote } from './broker.ts'
import { createChannelCopies } from './channel-copies.ts'
import { createCoMembers } from './co-members.ts'
import { NewestNews } from './newest-news.ts'
import type { Connected, Reach } from './reach.ts'
import type { Sessions } from './sessions.ts'
import { timings } from './timings.ts'
import { toldNotes } from './told-notes.ts'

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
  /** Whether anybody may be told, here or elsewhere. */
  isHeard: () => boolean
  send: (note: NodeNote) => void
  /** The change could not be sent to the users of this node. */
  onPresenceLost: (change: PresenceNote) => void
  /** Nor this one. */
  onProfileLost: (change: ProfileChange) => void
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
    for (const note of toldNotes(news, others)) send(note)
    return own.map(({ userId }) => userId)
  }
  const tellCoMembers = async (user: UserRef, news: News) => {
    const told = tell(news, await coMembersOf[reachOf(news)](user))
    // Whose own row may be gone already.
    tellOwn(news, [user.userId, ...told.filter((userId) => userId !== user.userId)])
  }
  const reachOf = ({ teller }: Announced): Reach => (teller === nodeId ? 'forAll' : 'forOwn')

  const copiesOf = (reach: Reach) =>
    createChannelCopies({
      db,
      nodeId: reach === 'forAll' ? null : nodeId,
      tell: (news, users) => tellOwn(news, tell(news, users)),
      onFailure: (error, topic, offset) => {
        report(error, 'user fan-out failed')
        if (reach === 'forAll')
          send({ kind: 'hint', topic, offset, change: { type: 'channel.updated' } })
      },
    })
  const copies = { forAll: copiesOf('forAll'), forOwn: copiesOf('forOwn') }

  /** Runs `work` in the background, unless another node does it or it concerns nobody here. */
  const run = (announced: Announced, work: () => Promise<void>, onFailure = () => {}) => {
    const { teller } = announced
    if (teller === undefined ? sessions.isEmpty : teller !== nodeId) return
    work().catch((error: unknown) => {
      report(error, 'user fan-out failed')
      onFailure()
    })
  }

  return {
    /** The change, as this node announces it. */
    announced: <Change extends object>(change: Change): Change & Announced =>
      isHeard() ? { ...change, teller: nodeId } : change,
    presenceChanged: (change: PresenceNote) => {
      const { appId, userId, isOnline, lastActiveAt, teller } = change
      const type = isOnline ? 'presence.online' : 'presence.offline'
      const event = { type, payload: { userId, lastActiveAt } } as const
      const subject = `presence ${userKey(change)}`
      newest.announced(subject, teller)
      run(
        change,
        () => tellCoMembers({ appId, userId }, { appId, event, subject, teller }),
        () => {
          if (teller !== undefined) send({ ...change, teller: undefined })
          options.onPresenceLost(change)
        },
      )
    },
    profileChanged: (change: ProfileChange) => {
      const { appId, user, teller } = change
      const ref = { appId, userId: user.id }
      const event = { type: 'user.updated', payload: { user } } as const
      const subject = `profile ${userKey(ref)}`
      newest.announced(subject, teller)
      run(
        change,
        () => tellCoMembers(ref, { appId, event, subject, teller }),
        () => {
          if (teller !== undefined) send({ kind: 'profile', ...change, teller: undefined })
          options.onProfileLost(change)
        },
      )
    },
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number, announced: Announced = {}) => {
      const reach = reachOf(announced)
      if (reach === 'forOwn' && newest.wasTold(topic, offset)) return
      run(announced, () => copies[reach](topic, offset))
    },
    /** Another node has looked up whom of this one the news concern. Returns whether it is told. */
    receive: ({ news, userIds }: ToldNote) => tellOwn(news, userIds),
  }
}
