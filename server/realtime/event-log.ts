import { limits, parseTopic } from '@parley/contract'
import { AdmissionError, type Admit, FULL } from '../core/admission.ts'
import type { Metrics } from '../core/metrics.ts'
import { envelopeBytes, envelopeIn } from '../core/stored-envelope.ts'
import { joinRemoval, shownEnvelope, shownType } from '../core/text-removals.ts'
import type { Db, Tx } from '../db/client.ts'
import type { Interest } from './broker/index.ts'
import { coalesce } from './coalesce.ts'
import {
  type FrameGrants,
  FULL_FRAMES,
  type SubscribeGrant,
  type SubscribeRequest,
  selectGrants,
} from './grants.ts'
import type { DurablePublication } from './publication.ts'

/** A topic, and the offset up to which it has been read. */
type TopicOffset = [topic: string, after: number]

export type EventLog = ReturnType<typeof createEventLog>

/** The subscribes of a frame, until when they may be postponed, and whether its socket is gone. */
type SubscribeFrame = { requests: SubscribeRequest[]; until: number; isGone: () => boolean }

type EventLogOptions = {
  db: Db
  admit: Admit
  interest: Pick<Interest, 'settled'>
  metrics: Pick<Metrics, 'callsRefused'>
}

/** How many topics one statement authorises, in at most 200 frames. */
const TOPICS_PER_STATEMENT = 1_000
const LEAST_FRAME_SIZE = TOPICS_PER_STATEMENT / 200

/** The hub's queries. */
export function createEventLog({ db, admit, interest, metrics }: EventLogOptions) {
  const select = coalesce<SubscribeFrame, FrameGrants>(
    async (frames, appId) => {
      // Events that are committed after the query are announced to this node.
      await interest.settled()
      const until = db.newDeadline()
      return admit({ appId, queue: 'subscribes', until }, () =>
        grantsOf(frames, (requests) => db.use((db) => selectGrants(db, requests), until)),
      )
    },
    {
      maxBatch: TOPICS_PER_STATEMENT,
      sizeOf: ({ requests }) => Math.max(requests.length, LEAST_FRAME_SIZE),
      groupOf: ({ requests: [request] }) => request?.appId ?? '',
      // In a storm, frames arrive turn by turn, so each statement collects those of several turns.
      pause: { eachMs: 0.5, mostMs: 50 },
      mostPostponed: FULL_FRAMES,
      isPostponed: ({ until }, grants) => grants === 'postponed' && performance.now() < until,
    },
  )
  /**
   * Authorises all requests of a frame with one snapshot. Concurrent frames of an app share a
   * statement while few publications were missed; of the frames that missed more, each of the next
   * statements takes some, the oldest first. A frame that waits longer than a call may take is
   * refused with an AdmissionError. A frame whose socket has closed is granted nothing.
   */
  const authorise = async (
    requests: SubscribeRequest[],
    isGone = () => false,
  ): Promise<SubscribeGrant[]> => {
    const grants = await select({ requests, until: db.newDeadline(), isGone })
    if (grants !== 'postponed') return grants
    metrics.callsRefused.inc({ reason: 'late' })
    throw new AdmissionError(FULL)
  }
  return {
    authorise,
    epoch: () => db.use(selectEpoch),
    /**
     * The publications after each offset, ascending: up to 500 for each topic, and in all no more
     * bytes than an answer may have, but at least one.
     */
    readAfter: (offsets: TopicOffset[]) => db.use((db) => selectAfter(db, offsets)),
    /** The topics whose last offset is beyond the given one, those of purged channels included. */
    findAdvanced: (offsets: TopicOffset[]) => db.use((db) => selectAdvanced(db, offsets)),
    history: (topic: string, range: HistoryRange) =>
      db.use((db) => selectHistory(db, topic, range)),
  }
}

/** The grants of frames; those whose sockets closed while they waited are not looked up. */
async function grantsOf(
  frames: SubscribeFrame[],
  select: (requests: SubscribeRequest[][]) => Promise<FrameGrants[]>,
): Promise<FrameGrants[]> {
  const here = frames.filter(({ isGone }) => !isGone())
  const found = here.length === 0 ? [] : await select(here.map(({ requests }) => requests))
  const grants = new Map(here.map((frame, index) => [frame, found[index]]))
  return frames.map((frame) => grants.get(frame) ?? frame.requests.map(() => null))
}

async function selectEpoch(db: Tx) {
  const [row] = await db<{ value: string }[]>`
    select value
    from service
    where key = 'epoch'`
  return row?.value ?? ''
}

type LoggedPublication = DurablePublication & { topic: string; ageSeconds: number }
type Measured = { bytes: number }

/** `isCut`: there may be more than these, because an answer has about a megabyte at most. */
async function selectAfter(db: Tx, offsets: TopicOffset[]) {
  const topics = offsets.map(([topic]) => topic)
  const afters = offsets.map(([, after]) => after)
  const rows = await db<(LoggedPublication & Measured)[]>`
    select
      e.topic, e."offset", e.message_id,
      ${shownType(db)} as type, ${shownEnvelope(db)} as envelope,
      extract(epoch from clock_timestamp() - e.created_at)::float as age_seconds,
      measured.bytes
    from (
      select
        found.topic, found."offset", found.bytes,
        sum(found.bytes) over (
          order by given.index, found."offset"
          rows between unbounded preceding and 1 preceding
        ) as bytes_before
      from unnest(${topics}::text[], ${afters}::int[])
        with ordinality as given (topic, after, index)
      cross join lateral (
        select e.topic, e."offset", ${envelopeBytes(db)} as bytes
        from events e
        where e.topic = given.topic
          and e."offset" > given.after
        order by e."offset"
        limit 500
      ) found
    ) measured
    join events e on e.topic = measured.topic and e."offset" = measured."offset"
    ${joinRemoval(db)}
    where coalesce(measured.bytes_before, 0) < ${limits.answerBytes}
    order by e.topic, e."offset"`
  const publications = rows.map(
    ({ bytes, ...row }): LoggedPublication => ({ ...row, envelope: envelopeIn(row) }),
  )
  const readBytes = rows.reduce((sum, { bytes }) => sum + bytes, 0)
  return { publications, isCut: readBytes >= limits.answerBytes }
}

function selectAdvanced(db: Tx, offsets: TopicOffset[]) {
  const topics = offsets.map(([topic]) => topic)
  const afters = offsets.map(([, after]) => after)
  const refs = topics.map((topic) => parseTopic(topic))
  const channelIds = refs.map((ref) => (ref?.kind === 'chat' ? ref.channelId : null))
  const appIds = refs.map((ref) => ref?.appId ?? null)
  const userIds = refs.map((ref) => (ref?.kind === 'user' ? ref.userId : null))
  return db<{ topic: string; lastOffset: number }[]>`
    select located.topic, located.last_offset
    from (
      select
        given.topic, given.after,
        coalesce(
          c.rev,
          us.last_offset,
          (
            select max(e."offset")
            from events e
            where e.topic = given.topic
          )
        ) as last_offset
      from unnest(
        ${topics}::text[], ${channelIds}::uuid[],
        ${appIds}::uuid[], ${userIds}::text[],
        ${afters}::int[]
      ) as given (topic, channel_id, app_id, user_id, after)
      left join channels c on c.id = given.channel_id
      left join user_streams us on us.app_id = given.app_id and us.user_id = given.user_id
    ) located
    where located.last_offset > located.after`
}

/**
 * A range of a topic's history; a negative `limit` means everything that is kept. Beyond the bytes
 * of an answer the history ends: the client asks again, from its last event on.
 */
type HistoryRange = { after: number | null; upTo: number; isReverse: boolean; limit: number }

async function selectHistory(db: Tx, topic: string, range: HistoryRange) {
  const { upTo, isReverse, limit } = range
  const most = limits.realtime.recoverable
  const direction = isReverse ? db`desc` : db`asc`
  const publications = await db<DurablePublication[]>`
    select "offset", type, envelope, message_id
    from (
      select
        page.*,
        sum(own_bytes) over (order by "offset" ${direction}) as bytes
      from (
        select
          e."offset", e.message_id,
          ${shownType(db)} as type, ${shownEnvelope(db)} as envelope,
          ${envelopeBytes(db)} as own_bytes
        from events e
        ${joinRemoval(db)}
        where e.topic = ${topic}
          and e."offset" <= ${upTo}
          and ${beyond(db, range)}
        order by e."offset" ${direction}
        limit ${limit < 0 ? most : Math.min(limit, most)}
      ) page
    ) measured
    where bytes <= ${limits.answerBytes} or bytes = own_bytes
    order by "offset" ${direction}`
  return publications.map((row) => ({ ...row, envelope: envelopeIn({ ...row, topic }) }))
}

function beyond(db: Tx, { after, isReverse }: Pick<HistoryRange, 'after' | 'isReverse'>) {
  if (after === null) return db`true`
  return isReverse ? db`e."offset" < ${after}` : db`e."offset" > ${after}`
}
