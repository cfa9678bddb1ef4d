import { setTimeout as wait } from 'node:timers/promises'
import { type Envelope, limits, parseTopic, topics } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import type { PresenceNote, ProfileChange } from './broker.ts'
import { createCoMembers } from './co-members.ts'
import { eventOf, type Publication } from './publication.ts'
import type { Sessions } from './sessions.ts'
import { timings } from './timings.ts'

/** How long the next copy to the many members of a large channel waits at least. */
const COPIES_PAUSE_MS = 1_000

/** The dependencies of the fan-out. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
  /** How long the next reading of a user's co-members waits at least. */
  coMembersPauseMs?: number
}
type LossOptions = {
  /** The change could not be sent to the users of this node. */
  onPresenceLost: (change: PresenceNote) => void
  /** Nor of this one. */
  onProfileLost: (change: ProfileChange) => void
}

export type UserFanout = ReturnType<typeof createUserFanout>

/**
 * Sends users events in their own topics about what others do. Each node looks up its own users, so
 * that one note between nodes is enough, however many users it concerns.
 */
export function createUserFanout({
  db,
  nodeId,
  sessions,
  broadcast,
  report,
  onPresenceLost,
  onProfileLost,
  coMembersPauseMs = timings.coMembersPauseMs,
}: UserFanoutOptions & LossOptions) {
  const coMembersOf = createCoMembers({ db, nodeId, pauseMs: coMembersPauseMs })
  /** By channel: the last event copied and the last heard of, until a moment after the copy. */
  const turns = new Map<string, { copied: number; heard: number; isTaken: boolean }>()
  const sendTo = (users: UserRef[], event: Envelope) => {
    const userTopics = users.map(({ appId, userId }) => topics.user(appId, userId))
    broadcast(userTopics, event)
  }

  const sendPresence = async ({ appId, userId, isOnline, lastActiveAt }: PresenceNote) => {
    const coMembers = await coMembersOf({ appId, userId })
    sendTo([{ appId, userId }, ...coMembers], {
      type: isOnline ? 'presence.online' : 'presence.offline',
      payload: { userId, lastActiveAt },
    })
  }
  const sendProfile = async ({ appId, user }: ProfileChange) => {
    const userId = user.id
    const coMembers = await coMembersOf({ appId, userId })
    sendTo([{ appId, userId }, ...coMembers], { type: 'user.updated', payload: { user } })
  }
  /** Returns whether the channel has many members here. */
  const copyToMembers = async (topic: string, offset: number) => {
    const channel = parseTopic(topic)
    if (channel?.kind !== 'chat') return false
    const { appId, channelId } = channel
    const onNode = { nodeId, connected: sessions.size }
    const [copy] = await db.use((db) => selectCopies(db, { ...onNode, channelId, topic, offset }))
    if (!copy) return false
    const users = copy.userIds.map((userId) => ({ appId, userId }))
    sendTo(users, eventOf(copy))
    return users.length > limits.largeChannelMembers
  }
  /**
   * Each copy has all of the channel: of the events that wait, members are sent the last, and none
   * that is heard of after a later one.
   */
  const copyInTurn = async (topic: string, offset: number) => {
    const turn = turns.get(topic) ?? { copied: 0, heard: 0, isTaken: false }
    turn.heard = Math.max(turn.heard, offset)
    if (turn.isTaken || turn.heard <= turn.copied) return
    turn.isTaken = true
    turns.set(topic, turn)
    while (turn.copied < turn.heard) {
      turn.copied = turn.heard
      const isToMany = await copyToMembers(topic, turn.copied).catch((error: unknown) => {
        report(error, 'user fan-out failed')
        return false
      })
      if (isToMany) await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    }
    turn.isTaken = false
    const { copied } = turn
    await wait(COPIES_PAUSE_MS, undefined, { ref: false })
    // Another one may have copied meanwhile, and be gone or followed by a turn of its own.
    if (turn.copied === copied && turns.get(topic) === turn) turns.delete(topic)
  }

  /** Runs `work` in the background, unless no user is connected here. */
  const run = (work: () => Promise<void>, onFailure = () => {}) => {
    if (sessions.isEmpty) return
    work().catch((error: unknown) => {
      report(error, 'user fan-out failed')
      onFailure()
    })
  }
  return {
    presenceChanged: (change: PresenceNote) =>
      run(
        () => sendPresence(change),
        () => onPresenceLost(change),
      ),
    profileChanged: (change: ProfileChange) =>
      run(
        () => sendProfile(change),
        () => onProfileLost(change),
      ),
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number) => run(() => copyInTurn(topic, offset)),
  }
}

type EventCopy = Pick<Publication, 'type' | 'envelope'> & { userIds: string[] }
type CopyQuery = {
  nodeId: string
  /** About how many users are connected to the node. */
  connected: number
  channelId: string
  topic: string
  offset: number
}

/**
 * An event of a channel, and its members who are connected to this node. Those of a channel that
 * has more members than the node has users are found by the connections, those of other channels by
 * the channel.
 */
export const selectCopies = (
  db: Tx,
  { nodeId, connected, channelId, topic, offset }: CopyQuery,
) => db<EventCopy[]>`
  select
    e.type, e.envelope,
    array(
      select m.user_id
      from members m
      where m.channel_id = c.id
        and c.member_count <= ${connected}
        and (
          select true
          from connections con
          where con.node_id = ${nodeId}
            and con.app_id = m.app_id
            and con.user_id = m.user_id
        )
      union all
      select con.user_id
      from connections con
      where con.node_id = ${nodeId}
        and con.app_id = c.app_id
        and c.member_count > ${connected}
        and (
          select true
          from members m
          where m.channel_id = c.id
            and m.user_id = con.user_id
        )
    ) as user_ids
  from events e
  cross join lateral (
    select *
    from channels
    where id = ${channelId}
    limit 1
  ) c
  where e.topic = ${topic}
    and e."offset" = ${offset}`
