import { topics } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import { envelopeIn } from '../../core/stored-envelope.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { isoTime } from '../../db/sql.ts'
import { type ErasureTarget, lockDeletedUser, lockTarget } from './erase.ts'
import { type NamedChannel, withoutNames, withoutPeer, withoutTexts, withUser } from './redact.ts'

/**
 * Takes the names and pictures of deleted users out of stored events: those that they caused in a
 * channel, and those by which the other member of a direct message got it, under their name.
 */

type Walk = { topic: string; afterOffset: number; limit: number }
type ChannelRef = { appId: string; channelId: string }

/**
 * Whether the events of a deleted channel `c` are kept until they expire: webhooks are sent them,
 * and may ask for them again.
 */
export const areEventsKept = (db: Tx) => db`(
  exists (
    select
    from webhooks wh
    where wh.app_id = c.app_id
  )
  and exists (
    select
    from events e
    where e.topic = 'chat:' || c.app_id || ':' || c.id
  )
)`

type NamingRow = { areEventsKept: boolean; userIds: string[] }

/** The topics whose events may name those who were in a channel. */
export async function selectNamingTopics(db: Tx, { appId, channelId }: ChannelRef) {
  const [row] = await db<NamingRow[]>`
    select
      ${areEventsKept(db)} as are_events_kept,
      array(
        select m.user_id
        from members m
        where m.channel_id = c.id
          and c.type = 'messaging'
        union
        select fm.user_id
        from former_members fm
        where fm.channel_id = c.id
          and c.type = 'messaging'
      ) as user_ids
    from channels c
    where c.id = ${channelId}
      and c.app_id is not distinct from ${appId}`
  const { areEventsKept: isKept = false, userIds = [] } = row ?? {}
  return {
    areEventsKept: isKept,
    ofChannel: topics.channel(appId, channelId),
    ofMembers: userIds.map((userId) => topics.user(appId, userId)),
  }
}

/**
 * Passes events that do not name the user, without a lock: most of a channel's. Returns the offset
 * to go on after, and whether there the channel is to be locked: also at the end, for what began
 * before the user was deleted and was not yet to be seen.
 */
export async function passOthers(db: Tx, target: ErasureTarget, walk: Walk) {
  const [slice] = await db<{ count: number; last: number | null; first: number | null }[]>`
    select
      count(*)::int as count,
      max(slice."offset") as last,
      min(slice."offset") filter (where slice.is_naming) as first
    from (
      select e."offset", ${mayName(db, textOf(target, walk.topic))} as is_naming
      from events e
      where e.topic = ${walk.topic}
        and e."offset" > ${walk.afterOffset}
      order by e."offset"
      limit ${walk.limit}
    ) slice`
  const { count = 0, last = null, first = null } = slice ?? {}
  if (first !== null) return { after: first - 1, isDue: true }
  return { after: last ?? walk.afterOffset, isDue: count < walk.limit }
}

/** The offset to go on after, or null at the end, and whether events were changed. */
type Rewriting = { after: number | null; isRewritten: boolean }
const OVER: Rewriting = { after: null, isRewritten: false }

/**
 * One step through a topic, while the channel is locked: else a message's deletion could write the
 * same events.
 */
export async function eraseNames(ctx: Transaction, target: ErasureTarget, walk: Walk) {
  const { channel, user } = await lockTarget(ctx.db, target)
  if (!channel || !user) return OVER
  const redact = (json: never) => withUser(withoutNames(json, channel), user)
  return rewriteEvents(ctx.db, { ...walk, channel, text: textOf(target, walk.topic) }, redact)
}

/** The same of a channel that was deleted. The texts of the user go, too: its messages are gone. */
export async function eraseTexts(ctx: Transaction, target: ErasureTarget, walk: Walk) {
  const [[channel], [user]] = await pipelined([
    selectUnseen(ctx.db, target, ctx.db`for no key update`),
    lockDeletedUser(ctx.db, target),
  ])
  if (!channel || !user) return OVER
  const redact = (json: never) =>
    withUser(withoutNames(withoutTexts(json, user, channel.now), channel), user)
  return rewriteEvents(ctx.db, { ...walk, channel, text: textOf(target, walk.topic) }, redact)
}

/** In short form the id of an author has no quotation mark before it. */
const textOf = ({ channelId, userId }: ErasureTarget, topic: string) =>
  topic.startsWith('user:') ? JSON.stringify(channelId) : JSON.stringify(userId).slice(1)

/** A direct message without a name has those of both in its own event. */
const mayName = (db: Tx, text: string) =>
  db`(strpos(e.envelope, ${text}) > 0 or e.type = 'channel.updated')`

/** The other member's name, in the topic of a member of a channel that was deleted. */
export async function forgetDirectName(db: Tx, ref: ChannelRef, walk: Walk) {
  const [channel] = await selectUnseen(db, ref)
  if (!channel) return OVER
  return rewriteEvents(db, { ...walk, channel, text: JSON.stringify(channel.id) })
}

const selectUnseen = (db: Tx, { appId, channelId }: ChannelRef, lock = db``) => db<
  (NamedChannel & { now: string })[]
>`
  select c.app_id, c.id, c.name, c.image, ${isoTime(db, db`clock_timestamp()`)} as now
  from channels c
  where c.id = ${channelId}
    and c.app_id is not distinct from ${appId}
    and c.deleted_at is not null
  ${lock}`

type Rewritten = Walk & { channel: NamedChannel; text: string }
type StoredRow = { offset: number; messageId: string | null; envelope: string | null }

/** Rewrites the events of the step that have this text; those of a member lose the other one. */
async function rewriteEvents(
  db: Tx,
  { topic, afterOffset, limit, channel, text }: Rewritten,
  redact: (json: never) => unknown = (json) => json,
): Promise<Rewriting> {
  const rewrite = (json: never) =>
    topic.startsWith('user:') ? withoutPeer(json, channel, topic) : redact(json)
  const rows = await db<StoredRow[]>`
    select
      e."offset", e.message_id,
      case when ${mayName(db, text)} then e.envelope end as envelope
    from events e
    where e.topic = ${topic}
      and e."offset" > ${afterOffset}
    order by e."offset"
    limit ${limit}`
  const changed = rows.flatMap(({ offset, messageId, envelope }) => {
    if (envelope === null) return []
    const whole = envelopeIn({ topic, offset, messageId, envelope })
    const json = JSON.parse(whole) as never // as one of the contract's
    const rewritten = JSON.stringify(rewrite(json))
    return rewritten === JSON.stringify(json) ? [] : { offset, rewritten }
  })
  if (changed.length > 0) {
    const offsets = changed.map(({ offset }) => offset)
    await db`
      update events e
      set envelope = given.envelope, type = given.envelope::json ->> 'type'
      from unnest(${offsets}::int[], ${changed.map(({ rewritten }) => rewritten)}::text[])
        as given ("offset", envelope)
      where e.topic = ${topic}
        and e."offset" = any(${offsets}::int[])
        and e."offset" = given."offset"`
  }
  const after = rows.length < limit ? null : (rows.at(-1)?.offset ?? null)
  return { after, isRewritten: changed.length > 0 }
}
