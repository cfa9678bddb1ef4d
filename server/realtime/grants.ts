import { type ChannelType, limits, parseTopic } from '@parley/contract'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import type { MemberRow } from '../db/rows.ts'
import { mayRead } from '../features/access.ts'
import type { DurablePublication } from './publication.ts'

/** A subscribe request to authorise. With `since`, the publications after it are returned. */
export type SubscribeRequest = {
  appId: string
  userId: string
  topic: string
  since: number | null
}
/**
 * The topic's last offset and the missed publications, read by the statement that checked the
 * right. Null: no right, or no such topic.
 */
export type SubscribeGrant = {
  lastOffset: number
  epoch: string
  missed: DurablePublication[]
  /** Of a channel. */
  memberCount: number | null
} | null

/** Whether a user could read the topic at all: a channel of their app, or their own topic. */
export function isWithinReach(name: string, { appId, userId }: UserRef) {
  const topic = parseTopic(name)
  if (topic === null || topic.appId !== appId) return false
  return topic.kind === 'chat' || topic.userId === userId
}

type MissedEvent = [
  offset: number,
  type: DurablePublication['type'],
  envelope: string,
  messageId: string | null,
]
type GrantRow = {
  type: ChannelType | null
  role: MemberRow['role'] | null
  workspaceRole: string | null
  memberCount: number | null
  epoch: string
  lastOffset: number | null
  missed: MissedEvent[] | null
}

/**
 * The missed publications that one frame is sent are limited, in number and in bytes: topics beyond
 * that are not recovered, and clients load their current state.
 */
export async function selectGrants(
  db: Tx,
  frames: SubscribeRequest[][],
): Promise<SubscribeGrant[]> {
  const requests = frames.flat()
  const refs = requests.map(({ topic }) => parseTopic(topic))
  const topics = requests.map(({ topic }) => topic)
  const channelIds = refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))
  const appIds = requests.map(({ appId }) => appId)
  const userIds = requests.map(({ userId }) => userId)
  const sinces = requests.map(({ since }) => since)
  const frameIndexes = frames.flatMap((frame, index) => frame.map(() => index))
  const rows = await db<GrantRow[]>`
    select
      requested.type, requested.role, requested.workspace_role, requested.member_count,
      requested.epoch, requested.last_offset,
      missed.missed
    from (
      select
        counted.*,
        sum(size.bytes) over (partition by counted.frame order by counted.index) as missing_bytes
      from (
        select
          *,
          sum(greatest(last_offset - since, 0)) over (partition by frame order by index) as missing
        from (
          select
            given.topic, given.since, given.frame, given.index,
            c.type, m.role, wm.role as workspace_role, c.member_count, s.value as epoch,
            case
              when given.channel_id is null then coalesce(us.last_offset, 0)
              else c.rev
            end as last_offset
          from unnest(
            ${topics}::text[], ${channelIds}::uuid[],
            ${appIds}::uuid[], ${userIds}::text[],
            ${sinces}::int[], ${frameIndexes}::int[]
          ) with ordinality as given (topic, channel_id, app_id, user_id, since, frame, index)
          join service s on s.key = 'epoch'
          left join channels c
            on c.id = given.channel_id and c.app_id = given.app_id and c.deleted_at is null
          left join members m on m.channel_id = c.id and m.user_id = given.user_id
          left join workspace_members wm
            on wm.workspace_id = c.workspace_id and wm.user_id = given.user_id
          left join user_streams us
            on given.channel_id is null
            and us.app_id = given.app_id
            and us.user_id = given.user_id
        ) located
      ) counted
      left join lateral (
        select sum(octet_length(e.envelope)) as bytes
        from events e
        where e.topic = counted.topic
          and e."offset" > counted.since
          and e."offset" <= counted.last_offset
      ) size
        on counted.since is not null
        and counted.missing <= ${limits.realtime.recoverable}
    ) requested
    left join lateral (
      select
        json_agg(
          json_build_array(e."offset", e.type, e.envelope, e.message_id)
          order by e."offset"
        ) as missed
      from events e
      where e.topic = requested.topic
        and e."offset" > requested.since
        and e."offset" <= requested.last_offset
    ) missed
      on requested.since is not null
      and requested.missing <= ${limits.realtime.recoverable}
      and requested.missing_bytes <= ${limits.answerBytes}
    order by requested.index`
  return rows.map((row, index) => toGrant(row, { isOwnTopic: refs[index]?.kind === 'user' }))
}

function toGrant(
  { lastOffset, epoch, missed, memberCount, ...access }: GrantRow,
  { isOwnTopic }: { isOwnTopic: boolean },
): SubscribeGrant {
  const { type } = access
  const isAllowed = isOwnTopic || (type !== null && mayRead({ ...access, type }))
  if (!isAllowed || lastOffset === null) return null
  const publications = (missed ?? []).map(([offset, type, envelope, messageId]) => ({
    offset,
    type,
    envelope,
    messageId,
  }))
  return { lastOffset, epoch, missed: publications, memberCount }
}
