import { parseTopic } from '@parley/contract'
import type { Tx } from '../db/client.ts'
import type { User } from './sessions.ts'

const MOST_CONNECTED = 1_000
const BADGE_EVENTS = ['message.new', 'message.deleted', 'channel.member_joined']

/** The generation that the tokens of each user must have; undefined for a user who is deleted. */
export async function selectGenerations(db: Tx, users: User[]): Promise<(number | undefined)[]> {
  const rows = await db<{ tokenGeneration: number | null }[]>`
    select u.token_generation
    from unnest(${users.map(({ appId }) => appId)}::uuid[], ${users.map(({ userId }) => userId)}::text[]) with ordinality as r (app_id, user_id, place)
    left join users u on u.app_id = r.app_id and u.id = r.user_id and u.deleted_at is null
    order by r.place`
  return rows.map(({ tokenGeneration }) => tokenGeneration ?? undefined)
}

/** Channels with events of the last seconds that move badges, each with the last of them. */
export async function selectMarking(
  db: Tx,
  seconds: number,
): Promise<{ channelId: string; offset: number }[]> {
  const rows = await db<{ topic: string; offset: number }[]>`
    select topic, max("offset") as "offset" from events
    where created_at > now() - ${seconds} * interval '1 second' and topic like 'chat:%' and type = any(${BADGE_EVENTS})
    group by topic`
  return rows.flatMap(({ topic, offset }) => {
    const ref = parseTopic(topic)
    return ref?.kind === 'chat' ? [{ channelId: ref.channelId, offset }] : []
  })
}

/** Who was removed from a workspace in the last seconds. */
export async function selectRemoved(db: Tx, seconds: number): Promise<User[]> {
  const rows = await db<{ topic: string }[]>`
    select distinct topic from events
    where created_at > now() - ${seconds} * interval '1 second' and topic like 'user:%' and type = 'workspace.removed'`
  return rows.flatMap(({ topic }) => {
    const ref = parseTopic(topic)
    return ref?.kind === 'user' ? [ref] : []
  })
}

/** The connected members of a channel, or the connections of a user; a client is a user on a node. */
export async function selectConnected(
  db: Tx,
  topic: string,
): Promise<{ user: string; client: string }[]> {
  const ref = parseTopic(topic)
  if (!ref) return []
  const which =
    ref.kind === 'user'
      ? db`k.user_id = ${ref.userId}`
      : db`exists (select from members m where m.channel_id = ${ref.channelId} and m.user_id = k.user_id)`
  const rows = await db<{ user: string; nodeId: string }[]>`
    select k.user_id as "user", k.node_id from connections k join nodes n on n.id = k.node_id where k.app_id = ${ref.appId} and ${which} limit ${MOST_CONNECTED}`
  return rows.map(({ user, nodeId }) => ({ user, client: `${nodeId}:${user}` }))
}
