import { topics, type UserSummary } from '@parley/contract'
import type { Transaction } from '../../core/context.ts'
import { isOfUser, topicOfChannel } from '../../core/topic-names.ts'
import type { Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { isoTime } from '../../db/sql.ts'
import {
  type DeletedUser,
  type ErasureTarget,
  joinDeleted,
  lockDeletedUser,
  lockTarget,
  nameOfDeletion,
} from './erase.ts'
import { type NamedChannel, withoutNames, withoutTexts, withUsers } from './redact.ts'
import { type EventStep, mayName, type Rewriting, rewriteEvents } from './rewrite-events.ts'
import { publicColumns } from './view.ts'

/**
 * Takes the names and pictures of deleted users out of stored events: those that they caused in a
 * channel, and those by which the other member of a direct message got it, under their name.
 */

type ChannelRef = { appId: string; channelId: string }
/** All users whom a walk is for, the one of the target among them or not. */
type NamedTarget = ErasureTarget & { userIds: string[] }

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
    where e.topic = ${topicOfChannel(db)}
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

/** Those of the given users who are deleted and have left something in the channel. */
export const selectDeletedIn = (
  db: Tx,
  { appId, channelId, userIds }: ChannelRef & { userIds: string[] },
) => db<DeletedUser[]>`
  select u.id as user_id, ${nameOfDeletion(db)} as deletion
  from unnest(${userIds}::text[]) given (user_id)
  ${joinDeleted(db, appId)}
  where exists (
      select
      from members m
      where m.channel_id = ${channelId}
        and m.user_id = u.id
    )
    or exists (
      select
      from former_members fm
      where fm.channel_id = ${channelId}
        and fm.user_id = u.id
    )
  order by random()`

/**
 * Skips events that name none of the users, without locking the channel. Returns the offset to
 * continue after, and whether the channel must be locked there. It is also locked at the end, for
 * transactions that were still open when the users were deleted.
 */
export async function passOthers(db: Tx, target: NamedTarget, step: EventStep) {
  const [slice] = await db<{ count: number; last: number | null; first: number | null }[]>`
    select
      count(*)::int as count,
      max(slice."offset") as last,
      min(slice."offset") filter (where slice.is_naming) as first
    from (
      select e."offset", ${mayName(db, textsOf(target, step.topic))} as is_naming
      from events e
      where e.topic = ${step.topic}
        and e."offset" > ${step.afterOffset}
      order by e."offset"
      limit ${step.limit}
    ) slice`
  const { count = 0, last = null, first = null } = slice ?? {}
  if (first !== null) return { after: first - 1, isDue: true }
  return { after: last ?? step.afterOffset, isDue: count < step.limit }
}

const OVER: Rewriting = { after: null, isRewritten: false }
/** The users whose names were looked for: not those whom others had locked. */
type Erasing = Rewriting & { userIds: string[] }

/**
 * One step through a topic, while the channel is locked: else a message's deletion could write the
 * same events.
 */
export async function eraseNames({ db }: Transaction, target: NamedTarget, step: EventStep) {
  const [{ channel, user }, others] = await pipelined([
    lockTarget(db, target),
    lockOthers(db, target),
  ])
  const users = byId([user, ...others])
  const redact = (json: never) => channel && withUsers(withoutNames(json, channel), users)
  return eraseEvents(db, { ...target, ...step, channel, users }, redact)
}

/** The same of a channel that was deleted. The users' texts go, too: its messages are gone. */
export async function eraseTexts({ db }: Transaction, target: NamedTarget, step: EventStep) {
  const [[channel], [user], others] = await pipelined([
    selectUnseen(db, target, db`for no key update`),
    lockDeletedUser(db, target),
    lockOthers(db, target),
  ])
  const users = byId([user, ...others])
  const redact = (json: never) =>
    channel && withUsers(withoutNames(withoutTexts(json, users, channel.now), channel), users)
  return eraseEvents(db, { ...target, ...step, channel, users }, redact)
}

/** The walk's other users, without those whose rows are locked: it waits for the target only. */
const lockOthers = (db: Tx, { appId, userId, userIds }: NamedTarget) => db<UserSummary[]>`
  select u.id, ${publicColumns(db)}
  from users u
  where u.app_id = ${appId}
    and u.id = any(${userIds.filter((id) => id !== userId)})
    and u.deleted_at is not null
    and u.forgotten_at is null
  for share skip locked`

const byId = (users: (UserSummary | undefined)[]) =>
  new Map(users.flatMap((user) => (user ? [[user.id, user] as const] : [])))

type ErasedEvents = NamedTarget &
  EventStep & { channel: NamedChannel | undefined; users: Map<string, UserSummary> }

async function eraseEvents(
  db: Tx,
  { channel, users, ...step }: ErasedEvents,
  redact: (json: never) => unknown,
): Promise<Erasing> {
  if (!channel || users.size === 0) return { ...OVER, userIds: [] }
  const texts = textsOf(step, step.topic)
  const rewriting = await rewriteEvents(db, { ...step, channel, texts }, redact)
  return { ...rewriting, userIds: [...users.keys()] }
}

/** In short form the id of an author has no quotation mark before it. */
const textsOf = ({ channelId, userIds }: NamedTarget, topic: string) =>
  isOfUser(topic)
    ? [JSON.stringify(channelId)]
    : userIds.map((userId) => JSON.stringify(userId).slice(1))

/** The other member's name, in the topic of a member of a channel that was deleted. */
export async function eraseDirectName(db: Tx, ref: ChannelRef, step: EventStep) {
  const [channel] = await selectUnseen(db, ref)
  if (!channel) return OVER
  return rewriteEvents(db, { ...step, channel, texts: [JSON.stringify(channel.id)] })
}

type Unseen = NamedChannel & { now: string }

const selectUnseen = (db: Tx, { appId, channelId }: ChannelRef, lock = db``) => db<Unseen[]>`
  select c.app_id, c.id, c.name, c.image, ${isoTime(db, db`clock_timestamp()`)} as now
  from channels c
  where c.id = ${channelId}
    and c.app_id is not distinct from ${appId}
    and c.deleted_at is not null
  ${lock}`
