import { type ChannelType, limits, parseTopic } from '@parley/contract'
import type { Db, Tx } from '../db/client.ts'
import type { MemberRow } from '../db/rows.ts'
import { mayRead } from '../features/access.ts'
import { coalesce } from './coalesce.ts'
import type { DurablePublication } from './publication.ts'

/** Somebody's wish to hear a topic; `since` asks for the publications after that offset too. */
export type SubscribeRequest = {
  appId: string
  userId: string
  topic: string
  since: number | null
}
/** Where the topic stood, and what was missed: seen by one statement together with the right. Null: no right, or no such topic. */
export type SubscribeGrant = { top: number; epoch: string; missed: DurablePublication[] } | null

export type EventLog = ReturnType<typeof createEventLog>

/** How many frames one statement answers; a frame may carry a thousand topics. */
const FRAMES_A_STATEMENT = 20

/** What the hub asks the database. */
export function createEventLog(db: Db) {
  /** Judges all wishes of a frame by one snapshot. Frames that come at the same time share a statement. */
  const admit = coalesce<SubscribeRequest[], SubscribeGrant[]>(
    async (frames) => {
      const grants = await db.use((db) => selectGrants(db, frames))
      return frames.map((frame) => grants.splice(0, frame.length))
    },
    { most: FRAMES_A_STATEMENT },
  )
  const epoch = async () => {
    const [row] = await db.use(
      (db) => db<{ value: string }[]>`select value from service where key = 'epoch'`,
    )
    return row?.value ?? ''
  }
  return {
    admit,
    epoch,
    /** The publications after each position, ascending; at most so many a topic. */
    read: (positions: [topic: string, after: number][]) =>
      db.use((db) => selectAfter(db, positions)),
    /** The topics that stand further than these positions, those of channels that are purged too. */
    ahead: (positions: [topic: string, after: number][]) =>
      db.use((db) => selectAhead(db, positions)),
    history: (topic: string, range: Range) => db.use((db) => selectHistory(db, topic, range)),
  }
}

/** A frame is answered with a limited number of missed publications; the topics after that are not recovered, which clients are made for. */
async function selectGrants(db: Tx, frames: SubscribeRequest[][]): Promise<SubscribeGrant[]> {
  const wishes = frames.flat()
  const refs = wishes.map(({ topic }) => parseTopic(topic))
  const rows = await db<
    (Place & {
      top: number | null
      epoch: string
      missed: [number, DurablePublication['type'], string, string | null][] | null
    })[]
  >`
    select r.type, r.role, r.workspace_role, r.epoch, r.top, missed.missed
    from (
      select *, sum(greatest(top - since, 0)) over (partition by frame order by place) as missing
      from (
        select r.topic, r.since, r.frame, r.place, c.type, m.role, w.role as workspace_role, e.value as epoch,
          case when r.channel_id is null then coalesce(s.last_offset, 0) else c.rev end as top
        from unnest(
          ${wishes.map(({ topic }) => topic)}::text[], ${refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))}::uuid[],
          ${wishes.map(({ appId }) => appId)}::uuid[], ${wishes.map(({ userId }) => userId)}::text[], ${wishes.map(({ since }) => since)}::int[],
          ${frames.flatMap((frame, index) => frame.map(() => index))}::int[]
        ) with ordinality as r (topic, channel_id, app_id, user_id, since, frame, place)
        join service e on e.key = 'epoch'
        left join channels c on c.id = r.channel_id and c.app_id = r.app_id and c.deleted_at is null
        left join members m on m.channel_id = c.id and m.user_id = r.user_id
        left join workspace_members w on w.workspace_id = c.workspace_id and w.user_id = r.user_id
        left join user_streams s on r.channel_id is null and s.app_id = r.app_id and s.user_id = r.user_id
      ) placed
    ) r
    left join lateral (
      select json_agg(json_build_array(k."offset", k.type, k.envelope, k.message_id) order by k."offset") as missed
      from events k where k.topic = r.topic and k."offset" > r.since and k."offset" <= r.top
    ) missed on r.since is not null and r.missing <= ${limits.realtime.recoverable}
    order by r.place`
  return rows.map(({ top, epoch, missed, ...place }, index) => {
    const isAllowed =
      refs[index]?.kind === 'user' ||
      (place.type !== null && mayRead({ ...place, type: place.type }))
    return isAllowed && top !== null
      ? {
          top,
          epoch,
          missed: (missed ?? []).map(([offset, type, envelope, messageId]) => ({
            offset,
            type,
            envelope,
            messageId,
          })),
        }
      : null
  })
}
type Place = {
  type: ChannelType | null
  role: MemberRow['role'] | null
  workspaceRole: string | null
}

const selectAfter = (db: Tx, positions: [string, number][]) => db<
  (DurablePublication & { topic: string })[]
>`
  select e.topic, e."offset", e.type, e.envelope, e.message_id
  from unnest(${positions.map(([topic]) => topic)}::text[], ${positions.map(([, after]) => after)}::int[]) as r (topic, after)
  cross join lateral (select * from events e where e.topic = r.topic and e."offset" > r.after order by e."offset" limit 500) e
  order by e.topic, e."offset"`

function selectAhead(db: Tx, positions: [string, number][]) {
  const refs = positions.map(([topic]) => parseTopic(topic))
  return db<{ topic: string; top: number }[]>`
    select * from (
      select r.topic, r.after, coalesce(c.rev, s.last_offset, (select max(e."offset") from events e where e.topic = r.topic)) as top
      from unnest(
        ${positions.map(([topic]) => topic)}::text[], ${refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))}::uuid[],
        ${refs.map((ref) => ref?.appId ?? null)}::uuid[], ${refs.map((ref) => (ref?.kind === 'user' ? ref.userId : null))}::text[],
        ${positions.map(([, after]) => after)}::int[]
      ) as r (topic, channel_id, app_id, user_id, after)
      left join channels c on c.id = r.channel_id
      left join user_streams s on s.app_id = r.app_id and s.user_id = r.user_id
    ) t where top > after`
}

/** A part of a topic's history; a negative `limit` means all that is kept. */
export type Range = { after: number | null; isReverse: boolean; limit: number }

/** Where a topic stands, and the asked part of what is kept of it. */
async function selectHistory(db: Tx, topic: string, { after, isReverse, limit }: Range) {
  const most =
    limit < 0 ? limits.realtime.recoverable : Math.min(limit, limits.realtime.recoverable)
  const beyond =
    after === null ? db`true` : isReverse ? db`"offset" < ${after}` : db`"offset" > ${after}`
  const order = isReverse ? db`desc` : db`asc`
  const publications = await db<DurablePublication[]>`
    select "offset", type, envelope, message_id from events where topic = ${topic} and ${beyond} order by "offset" ${order} limit ${most}`
  return [...publications]
}
