import { type Envelope, limits, parseTopic } from '@parley/contract'
import { isChannelTopic, isUserTopic } from '../core/topic-names.ts'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'

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

/**
 * The events of the last seconds, found by their time. Found by topic, and without statistics, a
 * whole day of events would be read for those of a moment.
 */
export const recentEvents = (db: Tx, seconds: number) => db`(
  select topic, "offset", type, created_at
  from events
  where created_at > now() - ${seconds} * interval '1 second'
  offset 0
)`

export type ChannelOffset = { channelId: string; offset: number }

/**
 * Channels whose unread counts changed in the last seconds, with the offset of the last change that
 * is not younger than `leastMs`: 0 if all are. Changes from before the database's clock was set
 * back are not young.
 */
export async function selectUnreadChanges(
  db: Tx,
  { seconds, leastMs }: { seconds: number; leastMs: number },
): Promise<ChannelOffset[]> {
  const rows = await db<{ topic: string; offset: number }[]>`
    select
      topic,
      coalesce(
        max("offset") filter (
          where created_at not between now() - ${leastMs} * interval '1 millisecond' and now()
        ),
        0
      ) as "offset"
    from ${recentEvents(db, seconds)} recent
    where ${isChannelTopic(db, db`topic`)}
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
    from ${recentEvents(db, seconds)} recent
    where ${isUserTopic(db, db`topic`)}
      and type = 'workspace.removed'`
  return rows.flatMap(({ topic }) => {
    const ref = parseTopic(topic)
    return ref?.kind === 'user' ? [ref] : []
  })
}

/** How many nodes there are beside this one. */
export async function countOtherNodes(db: Tx, nodeId: string) {
  const [row] = await db<{ others: number }[]>`
    select count(*)::int as others
    from nodes n
    where n.id <> ${nodeId}
      and n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'`
  return row?.others ?? 0
}
