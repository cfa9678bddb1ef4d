import { type Envelope, limits, parseTopic, topics } from '@parley/contract'
import type { Db, Tx } from '../db/client.ts'
import { isLargeLivestreamRow } from '../features/access.ts'
import type { PresenceNote, ProfileChange } from './broker.ts'
import { coalesce } from './coalesce.ts'
import { eventOf, type Publication } from './publication.ts'
import type { Sessions, User } from './sessions.ts'

/** What it takes to send the users of this node events in their own topics. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  broadcast: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
}

export type UserFanout = ReturnType<typeof createUserFanout>

/**
 * Sends users events in their own topics about what others do. Each node looks up its own users, so
 * that one note between nodes is enough, however many users it concerns.
 */
export function createUserFanout({ db, nodeId, sessions, broadcast, report }: UserFanoutOptions) {
  const coMembersOf = coalesce<CoMemberQuery, User[]>(
    (queries) => db.use((db) => selectCoMembers(db, nodeId, queries)),
    { maxBatch: 500 },
  )
  const sendTo = (users: User[], event: Envelope) => {
    const userTopics = users.map(({ appId, userId }) => topics.user(appId, userId))
    broadcast(userTopics, event)
  }

  const sendPresence = async ({ appId, userId, isOnline, lastActiveAt }: PresenceNote) => {
    const coMembers = await coMembersOf({ appId, userId, isSmallOnly: true })
    sendTo([{ appId, userId }, ...coMembers], {
      type: isOnline ? 'presence.online' : 'presence.offline',
      payload: { userId, lastActiveAt },
    })
  }
  const sendProfile = async ({ appId, user }: ProfileChange) => {
    const userId = user.id
    const coMembers = await coMembersOf({ appId, userId, isSmallOnly: false })
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
  const run = (work: () => Promise<void>) => {
    if (sessions.isEmpty) return
    work().catch((error: unknown) => report(error, 'user fan-out failed'))
  }
  return {
    presenceChanged: (change: PresenceNote) => run(() => sendPresence(change)),
    profileChanged: (change: ProfileChange) => run(() => sendProfile(change)),
    /** Sends members a copy of a channel's event. */
    channelUpdated: (topic: string, offset: number) => run(() => copyToMembers(topic, offset)),
  }
}

type EventCopy = User & Pick<Publication, 'type' | 'envelope'>

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

/** Large livestreams never make co-members; with `isSmallOnly` no large channel does. */
type CoMemberQuery = User & { isSmallOnly: boolean }

/** The users connected to this node who share a channel with each of these users. */
async function selectCoMembers(db: Tx, nodeId: string, queries: CoMemberQuery[]) {
  const appIds = queries.map(({ appId }) => appId)
  const userIds = queries.map(({ userId }) => userId)
  const smallOnly = queries.map(({ isSmallOnly }) => String(isSmallOnly))
  const rows = await db<(User & { index: number })[]>`
    select distinct given.index::int, con.app_id, con.user_id
    from unnest(${appIds}::uuid[], ${userIds}::text[], ${smallOnly}::text[]::boolean[])
      with ordinality as given (app_id, user_id, is_small_only, index)
    join members m on m.app_id = given.app_id and m.user_id = given.user_id
    join channels c
      on c.id = m.channel_id
      and c.deleted_at is null
      and case
        when given.is_small_only
          then c.type <> 'livestream' and c.member_count <= ${limits.largeLivestreamMembers}
        else not ${isLargeLivestreamRow(db)}
      end
    join members other on other.channel_id = c.id and other.user_id <> given.user_id
    join connections con
      on con.node_id = ${nodeId} and con.app_id = other.app_id and con.user_id = other.user_id`
  const coMembers = queries.map((): User[] => [])
  for (const { index, ...user } of rows) coMembers[index - 1]?.push(user)
  return coMembers
}
