import { type Envelope, parseTopic, topics } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import { isLargeChannelRow } from '../features/access.ts'
import type { PresenceNote, ProfileChange } from './broker.ts'
import { coalesce } from './coalesce.ts'
import { eventOf, type Publication } from './publication.ts'
import type { Sessions } from './sessions.ts'

/** The dependencies of the fan-out. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
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
}: UserFanoutOptions & LossOptions) {
  const coMembersOf = coalesce<UserRef, UserRef[]>(
    (users) => db.use((db) => selectCoMembers(db, nodeId, users)),
    { maxBatch: 500 },
  )
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
  const copyToMembers = async (topic: string, offset: number) => {
    const channel = parseTopic(topic)
    if (channel?.kind !== 'chat') return
    const { channelId } = channel
    const rows = await db.use((db) => selectCopies(db, { nodeId, channelId, topic, offset }))
    const [first] = rows
    if (first) sendTo(rows, eventOf(first))
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
    channelUpdated: (topic: string, offset: number) => run(() => copyToMembers(topic, offset)),
  }
}

type EventCopy = UserRef & Pick<Publication, 'type' | 'envelope'>

/** An event of a channel, for each of its members who is connected to this node. */
const selectCopies = (
  db: Tx,
  where: { nodeId: string; channelId: string; topic: string; offset: number },
) => db<EventCopy[]>`
  select con.app_id, con.user_id, e.type, e.envelope
  from events e
  join members m on m.channel_id = ${where.channelId}
  join connections con
    on con.node_id = ${where.nodeId} and con.app_id = m.app_id and con.user_id = m.user_id
  where e.topic = ${where.topic} and e."offset" = ${where.offset}`

/**
 * The users connected to this node who share a channel with each of these users, not counting large
 * channels. The channels come first and are materialised, so the statement never reads the members
 * of a large one, however many of its members are connected.
 */
async function selectCoMembers(db: Tx, nodeId: string, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  const rows = await db<(UserRef & { index: number })[]>`
    with shared as materialized (
      select given.index, given.user_id, m.channel_id
      from unnest(${appIds}::uuid[], ${userIds}::text[])
        with ordinality as given (app_id, user_id, index)
      join members m on m.app_id = given.app_id and m.user_id = given.user_id
      where (
        select c.deleted_at is null and not ${isLargeChannelRow(db)}
        from channels c
        where c.id = m.channel_id
      )
    ),
    co_member as materialized (
      select distinct shared.index, other.app_id, other.user_id
      from shared
      join members other
        on other.channel_id = shared.channel_id
        and other.user_id <> shared.user_id
    )
    select co_member.index::int, con.app_id, con.user_id
    from co_member
    join connections con
      on con.node_id = ${nodeId}
      and con.app_id = co_member.app_id
      and con.user_id = co_member.user_id`
  const coMembers = users.map((): UserRef[] => [])
  for (const { index, ...user } of rows) coMembers[index - 1]?.push(user)
  return coMembers
}
