import { type ChannelType, limits, parseTopic } from '@parley/contract'
import { envelopeBytes, envelopeIn } from '../core/stored-envelope.ts'
import { joinRemoval, shownEnvelope, shownType } from '../core/text-removals.ts'
import type { UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import type { MemberRow } from '../db/rows.ts'
import { mayRead, mayReadRow } from '../features/channels/access.ts'
import { channelById } from '../features/channels/by-id.ts'
import type { Recoveries } from './credit.ts'
import type { DurablePublication } from './publication.ts'

/**
 * A subscribe request to authorise. With `since`, the publications after it are returned, unless
 * the recoveries of its socket are used up.
 */
export type SubscribeRequest = {
  appId: string
  userId: string
  topic: string
  since: number | null
  recoveries?: Recoveries
}
/**
 * The topic's last offset and the missed publications, read by the statement that checked the
 * right. Null: no right, or no such topic.
 */
export type SubscribeGrant = {
  lastOffset: number
  epoch: string
  missed: DurablePublication[]
  /** The number of members of a channel. */
  memberCount: number | null
} | null

/** Whether a user could read the topic at all: a channel of their app, or their own topic. */
export function isWithinReach(name: string, { appId, userId }: UserRef) {
  const topic = parseTopic(name)
  if (topic === null || topic.appId !== appId) return false
  return topic.kind === 'chat' || topic.userId === userId
}

type MissedEventRow = [
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
  /** The bytes of the missed events, read or not, up to the first beyond an answer. */
  bytes: number | null
  missed: MissedEventRow[] | null
  isPostponed: boolean
}
/** A grant for each request of a frame; `postponed` if the frames before it missed too much. */
export type FrameGrants = SubscribeGrant[] | 'postponed'

/**
 * How many frames of the largest size one statement reads, and how many it only measures, which
 * takes a fifth of the time.
 */
export const FULL_FRAMES = 20
const MEASURED_FRAMES = 100
const MOST_PUBLICATIONS = FULL_FRAMES * limits.realtime.recoverable
const MOST_BYTES = FULL_FRAMES * limits.answerBytes
const MOST_MEASURED = MEASURED_FRAMES * limits.realtime.recoverable

/**
 * The missed publications that one frame is sent are limited, in number and in bytes: topics beyond
 * that are not recovered, and clients load their current state. So are those of a statement: frames
 * beyond that are postponed, but never the first, nor one to which nothing is to be read. What has
 * been measured is paid for, or else sockets could have it measured again and again.
 */
export async function selectGrants(db: Tx, frames: SubscribeRequest[][]): Promise<FrameGrants[]> {
  const rows = await selectRows(db, frames)
  return frames.map((frame) => {
    const own = rows.splice(0, frame.length)
    if (own.some(({ isPostponed }) => isPostponed)) return 'postponed'
    for (const [index, { bytes }] of own.entries()) frame[index]?.recoveries?.take(bytes ?? 0)
    return own.map((row, index) => toGrant(row, frame[index]?.topic ?? ''))
  })
}

function selectRows(db: Tx, frames: SubscribeRequest[][]) {
  const requests = frames.flat()
  const refs = requests.map(({ topic }) => parseTopic(topic))
  const topics = requests.map(({ topic }) => topic)
  const channelIds = refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))
  const appIds = requests.map(({ appId }) => appId)
  const userIds = requests.map(({ userId }) => userId)
  const sinces = requests.map(({ since, recoveries }) => (recoveries?.isUsedUp ? null : since))
  const frameIndexes = frames.flatMap((frame, index) => frame.map(() => index))
  return db<GrantRow[]>`
    with located as (
      select
        given.topic, given.frame, given.index,
        c.type, m.role, wm.role as workspace_role, c.member_count, s.value as epoch,
        case
          when given.channel_id is null then coalesce(us.last_offset, 0)
          else c.rev
        end as last_offset,
        case when given.channel_id is null or ${mayReadRow(db)} then given.since end as asked
      from unnest(
        ${topics}::text[], ${channelIds}::uuid[],
        ${appIds}::uuid[], ${userIds}::text[],
        ${sinces}::int[], ${frameIndexes}::int[]
      ) with ordinality as given (topic, channel_id, app_id, user_id, since, frame, index)
      join service s on s.key = 'epoch'
      left join lateral (${channelById(db, db`given.channel_id`)}) c on c.app_id = given.app_id
      left join members m on m.channel_id = c.id and m.user_id = given.user_id
      left join workspace_members wm
        on wm.workspace_id = c.workspace_id and wm.user_id = given.user_id
      left join user_streams us
        on given.channel_id is null
        and us.app_id = given.app_id
        and us.user_id = given.user_id
    ),
    counted as (
      select
        *,
        sum(greatest(last_offset - since, 0)) over (partition by frame order by index) as missing
      from (
        select
          *,
          case when last_offset - asked <= ${limits.realtime.recoverable} then asked end as since
        from located
      ) recoverable
    ),
    bounded as (
      select
        *,
        sum(greatest(last_offset - since, 0))
          filter (where missing <= ${limits.realtime.recoverable})
          over (order by index) as all_missing
      from counted
    ),
    measured as (
      select
        bounded.*,
        size.bytes::int as bytes,
        sum(size.bytes) over (partition by bounded.frame order by bounded.index) as missing_bytes
      from bounded
      left join lateral (
        select total.bytes
        from (
          select
            sum(${envelopeBytes(db)}) over passed as bytes,
            lead(e."offset") over passed is null as is_last
          from events e
          where e.topic = bounded.topic
            and e."offset" > bounded.since
            and e."offset" <= bounded.last_offset
            and bounded.missing <= ${limits.realtime.recoverable}
            and bounded.all_missing <= ${MOST_MEASURED}
          window passed as (order by e."offset" rows unbounded preceding)
        ) total
        where total.is_last or total.bytes > ${limits.answerBytes}
        limit 1
      ) size on true
    ),
    added as (
      select
        *,
        sum(bytes)
          filter (where missing_bytes <= ${limits.answerBytes})
          over (order by index) as all_bytes,
        sum(greatest(last_offset - since, 0))
          filter (
            where missing <= ${limits.realtime.recoverable}
              and missing_bytes <= ${limits.answerBytes}
          )
          over (order by index) as all_read
      from measured
    ),
    requested as (
      select
        *,
        coalesce(
          bool_or(
            last_offset > since
            and missing <= ${limits.realtime.recoverable}
            and (
              all_missing > ${MOST_MEASURED}
              or (
                missing_bytes <= ${limits.answerBytes}
                and (all_read > ${MOST_PUBLICATIONS} or all_bytes > ${MOST_BYTES})
              )
            )
          ) over (partition by frame),
          false
        ) as is_postponed
      from added
    )
    select
      requested.type, requested.role, requested.workspace_role, requested.member_count,
      requested.epoch, requested.last_offset,
      requested.bytes, requested.is_postponed,
      missed.missed
    from requested
    left join lateral (
      select
        json_agg(
          json_build_array(e."offset", ${shownType(db)}, ${shownEnvelope(db)}, e.message_id)
          order by e."offset"
        ) as missed
      from events e
      ${joinRemoval(db)}
      where e.topic = requested.topic
        and e."offset" > requested.since
        and e."offset" <= requested.last_offset
        and requested.missing <= ${limits.realtime.recoverable}
        and requested.missing_bytes <= ${limits.answerBytes}
        and not requested.is_postponed
    ) missed on true
    order by requested.index`
}

function toGrant(
  { lastOffset, epoch, missed, memberCount, bytes: _, ...access }: GrantRow,
  topic: string,
): SubscribeGrant {
  const { type } = access
  const isOwnTopic = parseTopic(topic)?.kind === 'user'
  const isAllowed = isOwnTopic || (type !== null && mayRead({ ...access, type }))
  if (!isAllowed || lastOffset === null) return null
  const publications = (missed ?? []).map(([offset, type, envelope, messageId]) => ({
    offset,
    type,
    envelope: envelopeIn({ topic, offset, messageId, envelope }),
    messageId,
  }))
  return { lastOffset, epoch, missed: publications, memberCount }
}
