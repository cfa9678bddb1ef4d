import { performance } from 'node:perf_hooks'
import { replayKey } from '../../core/webhook-replays.ts'
import type { Db } from '../../db/client.ts'
import { createBatchSize } from '../batch-size.ts'
import type { Timings } from '../timings.ts'
import type { Lease } from './leases.ts'
import { appOf, wants } from './log-pages.ts'
import { nextTopics } from './topics-of-app.ts'

/** How many replays a process runs at once: it may share its connections with calls. */
const AT_ONCE = 2
type Sizes = { topics: number; page: number }
/** How many topics are read side by side, and how many events of them all one statement reads. */
const SIZES: Sizes = { topics: 250, page: 5_000 }

/** A topic, and the offset up to which it was read. */
type TopicOffset = { topic: string; offset: number }
/**
 * How far a replay has come, as it is stored: the last topic that was begun, and in `places` those
 * that may have more events. `again` may be stored beside it: a time since which to replay events
 * once more.
 */
type ReplayProgress = { since: string; after: string; places: TopicOffset[] }
/** Where each replay begins. Older servers find these two, and no `since`. */
const START: Omit<ReplayProgress, 'since'> = { after: '', places: [] }
type Pool = Pick<Db, 'use'>

export type Replays = ReturnType<typeof createReplays>

/** The replays of a process. Further ones wait for another turn. */
export function createReplays(sizes = SIZES) {
  let running = 0
  /** Makes the deliveries that a webhook has asked for again, for the time of a turn. */
  const run = async (db: Pool, lease: Lease, timings: Pick<Timings, 'webhookReplayMs'>) => {
    if (lease.replaySince === null || running >= AT_ONCE) return
    running += 1
    try {
      await replay(db, lease, { turnMs: timings.webhookReplayMs, sizes })
    } finally {
      running -= 1
    }
  }
  return { run }
}

type ReplayTurn = { turnMs: number; sizes: Sizes }

/**
 * Makes deliveries of the events of an app since a time, those already delivered included. It walks
 * through the app's topics, and the next turn continues where this one ended.
 */
async function replay(db: Pool, lease: Lease, { turnMs, sizes }: ReplayTurn) {
  const until = performance.now() + turnMs
  const begun = await begin(db, lease)
  if (!begun) return
  const { since } = begun
  const size = createBatchSize(sizes.page)
  let { after, places: topics } = begun
  for (;;) {
    if (topics.length === 0) {
      const found = await nextTopics(db, { appId: lease.appId, after, most: sizes.topics })
      const last = found.at(-1)
      if (last === undefined) break
      after = last
      topics = found.map((topic) => ({ topic, offset: 0 }))
    }
    const read = topics
    topics = await size.run((most) => replayPage(db, { lease, topics: read, most, since }))
    if (performance.now() < until) continue
    await noteProgress(db, lease, { since, after, places: topics })
    return
  }
  await end(db, lease, since)
}

/**
 * Notes that the replay has begun, so its start can no longer be moved back. The progress of the
 * last turn counts only if it is for the same start.
 */
async function begin(db: Pool, { id }: Lease): Promise<ReplayProgress | undefined> {
  const [noted] = await db.use(
    (db) => db<{ value: string }[]>`
      insert into service as s (key, value)
      select ${replayKey(id)}, ${JSON.stringify(START)}
      from webhooks wh
      where wh.id = ${id}
      on conflict (key) do update
      set value = s.value
      returning s.value`,
  )
  const [webhook] = await db.use(
    (db) => db<{ since: string | null }[]>`
      select wh.replay_since::text as since
      from webhooks wh
      where wh.id = ${id}`,
  )
  if (!noted || !webhook || webhook.since === null) return undefined
  const progress = JSON.parse(noted.value) as ReplayProgress // as noted, but for `since`
  return progress.since === webhook.since ? progress : { ...START, since: webhook.since }
}

type ReplayPage = { lease: Lease; topics: TopicOffset[]; since: string; most: number }

/**
 * Makes deliveries of the next events of these topics, as many of each. Returns the topics that may
 * have more. Offsets, not times, bound what it reads of a topic.
 */
async function replayPage(
  db: Pool,
  { lease, topics, since, most }: ReplayPage,
): Promise<TopicOffset[]> {
  const each = Math.max(1, Math.floor(most / topics.length))
  const reached = await db.use(
    (db) => db<(TopicOffset & { count: number })[]>`
      with page as materialized (
        select e.*
        from unnest(
          ${topics.map(({ topic }) => topic)}::text[],
          ${topics.map(({ offset }) => offset)}::int[]
        ) as given (topic, "offset")
        cross join lateral (
          select e.topic, e."offset", e.type, e.created_at
          from events e
          where e.topic = given.topic
            and e."offset" > given."offset"
          order by e."offset"
          limit ${each}
        ) e
      ),
      replayed as (
        insert into webhook_deliveries as wd (
          app_id, webhook_id,
          topic, "offset", event_type
        )
        select wh.app_id, wh.id, page.topic, page."offset", page.type
        from page
        join webhooks wh on wh.id = ${lease.id}
        where wh.app_id = ${appOf(db)}
          and page.created_at >= ${since}::timestamptz
          and ${wants(db)}
        order by page.topic, page."offset"
        on conflict (webhook_id, topic, "offset") do update
        set
          status = 'pending',
          attempts = 0,
          next_attempt_at = now(),
          error = null
        where wd.status <> 'pending'
      )
      select page.topic, max(page."offset") as "offset", count(*)::int as count
      from page
      group by page.topic
      order by page.topic`,
  )
  return reached.flatMap(({ topic, offset, count }) => (count < each ? [] : { topic, offset }))
}

const noteProgress = (db: Pool, { id }: Lease, progress: ReplayProgress) =>
  db.use(
    (db) => db`
      update service s
      set value = (s.value::jsonb || ${JSON.stringify(progress)}::text::jsonb)::text
      where s.key = ${replayKey(id)}`,
  )

/**
 * Ends the replay. Another may begin now, and one that was asked for meanwhile does. If the webhook
 * was disabled meanwhile, or is to replay events since another time, this was not the end: it
 * begins again.
 */
const end = (db: Pool, { id }: Lease, since: string) =>
  db.use(
    (db) => db`
      with ended as materialized (
        select wh.id
        from webhooks wh
        where wh.id = ${id}
          and wh.enabled
          and wh.replay_since = ${since}::timestamptz
        for no key update
      ),
      forgotten as (
        delete from service s
        where s.key = ${replayKey(id)}
          and exists (
            select
            from ended
          )
        returning (s.value::jsonb ->> 'again')::timestamptz as again
      )
      update webhooks wh
      set replay_since = forgotten.again
      from forgotten
      where wh.id = ${id}`,
  )
