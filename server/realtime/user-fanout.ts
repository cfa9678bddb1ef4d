import { type Envelope, limits, parseTopic, topics } from '@parley/contract'
import type { Db, Tx } from '../db/client.ts'
import type { Presence, Profile } from './broker.ts'
import { coalesce } from './coalesce.ts'
import { eventOf, type Publication } from './publication.ts'
import type { Sessions, User } from './sessions.ts'

/** What it takes to tell the users of this node something in their own topics. */
export type UserFanoutOptions = {
  db: Db
  nodeId: string
  sessions: Sessions
  tell: (topics: string[], event: Envelope) => void
  report: (error: unknown, problem: string) => void
}

/**
 * What users of this node are told in their own topics because of others: each node finds out for its own, so that
 * nothing has to travel for each of them.
 */
export function createUserFanout({ db, nodeId, sessions, tell, report }: UserFanoutOptions) {
  const companionsOf = coalesce<Question, User[]>(
    (questions) => db.use((db) => selectCompanions(db, nodeId, questions)),
    { most: 500 },
  )
  const tellUsers = (users: User[], event: Envelope) =>
    tell(
      users.map(({ appId, userId }) => topics.user(appId, userId)),
      event,
    )
  const orReport = (work: Promise<void>) =>
    void work.catch((error: unknown) => report(error, 'could not tell those concerned'))

  const presence = async ({ appId, userId, isOnline, lastActiveAt }: Presence) => {
    const companions = await companionsOf({ appId, userId, isSmallOnly: true })
    tellUsers([{ appId, userId }, ...companions], {
      type: isOnline ? 'presence.online' : 'presence.offline',
      payload: { userId, lastActiveAt },
    })
  }
  const profile = async ({ appId, user }: Profile) => {
    const companions = await companionsOf({ appId, userId: user.id, isSmallOnly: false })
    tellUsers([{ appId, userId: user.id }, ...companions], {
      type: 'user.updated',
      payload: { user },
    })
  }
  /** A copy of a channel's event for its members. */
  const copy = async (topic: string, offset: number) => {
    const ref = parseTopic(topic)
    if (ref?.kind !== 'chat') return
    const rows = await db.use(
      (db) => db<(User & Pick<Publication, 'type' | 'envelope'>)[]>`
      select k.app_id, k.user_id, e.type, e.envelope
      from events e join members m on m.channel_id = ${ref.channelId}
      join connections k on k.node_id = ${nodeId} and k.app_id = m.app_id and k.user_id = m.user_id
      where e.topic = ${topic} and e."offset" = ${offset}`,
    )
    const [row] = rows
    if (row) tellUsers(rows, eventOf(row))
  }
  const isNobodyHere = () => sessions.isEmpty
  return {
    presence: (change: Presence) => isNobodyHere() || orReport(presence(change)),
    profile: (change: Profile) => isNobodyHere() || orReport(profile(change)),
    copy: (topic: string, offset: number) => isNobodyHere() || orReport(copy(topic, offset)),
  }
}

type Question = User & { isSmallOnly: boolean }

/** The users connected to this node who share a channel with each of these: any but a crowd, or small ones only. */
async function selectCompanions(db: Tx, nodeId: string, questions: Question[]): Promise<User[][]> {
  const rows = await db<(User & { place: number })[]>`
    select distinct r.place::int, k.app_id, k.user_id
    from unnest(
      ${questions.map(({ appId }) => appId)}::uuid[], ${questions.map(({ userId }) => userId)}::text[], ${questions.map(({ isSmallOnly }) => String(isSmallOnly))}::text[]::boolean[]
    ) with ordinality as r (app_id, user_id, is_small_only, place)
    join members m on m.app_id = r.app_id and m.user_id = r.user_id
    join channels c on c.id = m.channel_id and c.deleted_at is null
      and case when r.is_small_only then c.type <> 'livestream' and c.member_count <= ${limits.largeLivestreamMembers} else c.type <> 'livestream' or c.member_count <= ${limits.largeLivestreamMembers} end
    join members o on o.channel_id = c.id and o.user_id <> r.user_id
    join connections k on k.node_id = ${nodeId} and k.app_id = o.app_id and k.user_id = o.user_id`
  const companions = questions.map((): User[] => [])
  for (const { place, ...user } of rows) companions[place - 1]?.push(user)
  return companions
}
