import { type Envelope, parseTopic } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'

const CONNECTED_LIMIT = 1_000
/** The events of a channel that change unread counts for members. */
const UNREAD_EVENTS: Envelope['type'][] = [
  'message.new',
  'message.deleted',
  'channel.member_joined',
]

/**
 * The generation that each user's tokens must have; undefined for a user who is deleted, or whose
 * app is disabled or deleted.
 */
export async function selectGenerations(db: Tx, users: UserRef[]): Promise<(number | undefined)[]> {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  const rows = await db<{ tokenGeneration: number | null }[]>`
    select case when num_nulls(a.disabled_at, a.deleted_at) = 2 then u.token_generation end
      as token_generation
    from unnest(${appIds}::uuid[], ${userIds}::text[])
      with ordinality as given (app_id, user_id, index)
    left join users u
      on u.app_id = given.app_id and u.id = given.user_id and u.deleted_at is null
    left join apps a on a.id = u.app_id
    order by given.index`
  return rows.map(({ tokenGeneration }) => tokenGeneration ?? undefined)
}

export type ChannelOffset = { channelId: string; offset: number }

/** Channels whose unread counts changed in the last seconds, with the offset of the last change. */
export async function selectUnreadChanges(db: Tx, seconds: number): Promise<ChannelOffset[]> {
  const rows = await db<{ topic: string; offset: number }[]>`
    select topic, max("offset") as "offset"
    from events
    where created_at > now() - ${seconds} * interval '1 second'
      and topic like 'chat:%'
      and type = any(${UNREAD_EVENTS})
    group by topic`
  return rows.flatMap(({ topic, offset }) => {
    const ref = parseTopic(topic)
    return ref?.kind === 'chat' ? [{ channelId: ref.channelId, offset }] : []
  })
}

/** The users who were removed from a workspace in the last seconds. */
export async function selectRemoved(db: Tx, seconds: number): Promise<UserRef[]> {
  const rows = await db<{ topic: string }[]>`
    select distinct topic
    from events
    where created_at > now() - ${seconds} * interval '1 second'
      and topic like 'user:%'
      and type = 'workspace.removed'`
  return rows.flatMap(({ topic }) => {
    const ref = parseTopic(topic)
    return ref?.kind === 'user' ? [ref] : []
  })
}

/** The connected members of a channel, or a user's own connections: one for each user and node. */
export async function selectConnected(
  db: Tx,
  topic: string,
): Promise<{ user: string; client: string }[]> {
  const ref = parseTopic(topic)
  if (!ref) return []
  const isConcerned =
    ref.kind === 'user'
      ? db`con.user_id = ${ref.userId}`
      : db`exists (
          select
          from members m
          where m.channel_id = ${ref.channelId} and m.user_id = con.user_id
        )`
  const rows = await db<{ user: string; nodeId: string }[]>`
    select con.user_id as "user", con.node_id
    from connections con
    join nodes n on n.id = con.node_id
    where con.app_id = ${ref.appId} and ${isConcerned}
    limit ${CONNECTED_LIMIT}`
  return rows.map(({ user, nodeId }) => ({ user, client: `${nodeId}:${user}` }))
}
