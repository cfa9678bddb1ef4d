import { contract } from '@parley/contract'
import { broadcast, broadcastToUser, type Caller, type Context } from '../core/context.ts'
import {
  CONTENDED,
  type Implements,
  implementShared,
  implementWithoutTransaction,
} from '../core/operation.ts'
import { settleInHalves } from '../core/settle-batch.ts'
import { type MemberRef, memberKey, type UserRef } from '../core/user-ref.ts'
import type { Tx } from '../db/client.ts'
import { pipelined } from '../db/pipelined.ts'
import { constant, snapshotNumber } from '../db/sql.ts'
import { isLargeChannel } from './channels/access.ts'
import { channelById } from './channels/by-id.ts'
import { type Marks, moveMarkers, whyUnmoved } from './markers.ts'
import { uncountedAfterMarker } from './tombstones.ts'

/** A call has little more than two ids. */
const MARK_BYTES = 200

const mark = implementShared(contract.reads.mark, {
  keysOf: ({ caller: { appId, userId }, input: { channelId } }) => ({
    group: appId,
    resource: `${appId}:${channelId}:${userId}`,
  }),
  bytesOf: () => MARK_BYTES,
  run: async (ctx, commands, { waitsForLocks }) => {
    const outcomes = await markRead(ctx, commands, { from: 'end', waitsForLocks })
    return outcomes.map((outcome) => {
      if (outcome === CONTENDED || 'error' in outcome) return outcome
      const { lastReadSeq, left } = outcome
      const { count: unreadCount, version: unreadVersion } = left
      return { result: { success: true, lastReadSeq, unreadCount, unreadVersion } }
    })
  },
})

const unreadCount = implementWithoutTransaction(
  contract.reads.unreadCount,
  async ({ db, caller }) => {
    const { totalUnread, totalUnreadVersion } = await selectTotalUnread(db, caller)
    return { count: totalUnread, version: totalUnreadVersion }
  },
)

export const reads = { mark, unreadCount } satisfies Implements<'reads'>

/** The channel of member row `m`. */
const channelOfMember = constant((db) => channelById(db, db`m.channel_id`))

type TotalUnread = { totalUnread: number; totalUnreadVersion: number }

/** The unread messages in all channels of a user. */
export async function selectTotalUnread(db: Tx, { appId, userId }: UserRef) {
  const [row] = await db<TotalUnread[]>`
    select
      coalesce(sum(${unread(db)}), 0)::int as total_unread,
      ${snapshotNumber(db)} as total_unread_version
    from members m
    cross join lateral (${channelOfMember(db)}) c
    where m.app_id = ${appId}
      and m.user_id = ${userId}`
  return row ?? { totalUnread: 0, totalUnreadVersion: 0 }
}

type MarkCommand = {
  caller: Caller<'user'>
  input: { channelId: string; messageId?: string | undefined }
}
type MarkContext = Pick<Context, 'db' | 'services'>
type MarkOptions = Pick<Marks, 'from' | 'waitsForLocks'>

/**
 * Moves the markers of callers of one app, and publishes their positions and the unread counts that
 * are left. Each is refused alone, and fails alone if counting takes too long. Unless it
 * `waitsForLocks`, a caller whose member row others have locked is left out: CONTENDED. Usually it
 * is one round trip for all of them.
 *
 * They are counted by a later statement than the one that moves: that one sees the channels as they
 * were when it began, which may be long before it gets a member's row.
 */
export async function markRead(
  ctx: MarkContext,
  commands: MarkCommand[],
  { from, waitsForLocks }: MarkOptions,
) {
  const appId = commands[0]?.caller.appId ?? ''
  const publishing = { ...ctx, caller: { appId } }
  const marks = commands.map(({ caller: { userId }, input }) => ({ ...input, userId }))
  const [moved, counts] = await pipelined([
    moveAndPublish(ctx, { appId, marks, from, waitsForLocks }),
    settleInHalves(marks, (some) => countUnread(ctx.db, appId, some)),
  ])
  const positions = new Map(
    moved.flatMap((position) => position.ordinals.map((ordinal) => [ordinal, position])),
  )
  const unmoved = marks.filter((_, index) => !positions.has(index + 1))
  const reasons = await settleInHalves(unmoved, (some) =>
    whyUnmoved(ctx.db, { appId, marks: some, waitsForLocks }),
  )
  return commands.map(({ caller }, index) => {
    const position = positions.get(index + 1)
    if (!position) return outcomeOf(reasons.shift())
    ctx.services.lastActive.touch(caller)
    const left = outcomeOf(counts[index])
    if ('error' in left) return left
    // Published once for all marks of a member.
    if (position.ordinals[0] === index + 1) publishLeft(publishing, position, left)
    return { ...position, left }
  })
}

const outcomeOf = <T>(settled: PromiseSettledResult<T> | undefined): T | { error: Error } =>
  settled?.status === 'fulfilled' ? settled.value : { error: settled?.reason }

/**
 * Sends the read position of a member to the channel; in a large channel to the member only. It
 * does not wait for the count, without which the marker has moved as well.
 */
async function moveAndPublish(ctx: MarkContext, marks: Marks) {
  // Sent at once, so that what the caller sends next comes after it.
  const moved = await moveMarkers(ctx.db, marks).execute()
  const { appId } = marks
  for (const { channelId, userId, lastReadSeq, lastReadMessageId, readAt, memberCount } of moved) {
    const onlyFor = isLargeChannel({ memberCount }) ? userId : undefined
    const position = { channelId, userId, lastReadSeq, lastReadMessageId, readAt, onlyFor }
    broadcast({ ...ctx, caller: { appId } }, 'read.updated', position)
  }
  return moved
}

/**
 * A number of unread messages; the higher version is newer. `snapshot` numbers the snapshot that it
 * was read from, and is the version of a total with it; NaN if an older server read it.
 */
export type VersionedCount = { count: number; version: number; snapshot: number }
/** The counts of members who have left the channel meanwhile. */
const NONE: VersionedCount = { count: 0, version: 0, snapshot: 0 }

/**
 * Sends the unread count that is left in a channel to the member. Their total follows from each
 * node that they are connected to, which knows their other counts.
 */
const publishLeft = (
  ctx: Parameters<typeof broadcastToUser>[0],
  { channelId, userId }: MemberRef,
  { count, version, snapshot }: VersionedCount,
) =>
  broadcastToUser(ctx, userId, {
    type: 'channel.unread_changed',
    payload: { channelId, count, version },
    snapshot,
  })

/** The unread counts of members of an app's channels, in their order. */
async function countUnread(db: Tx, appId: string, members: MemberRef[]) {
  const distinct = [...new Map(members.map((member) => [memberKey(member), member])).values()]
  const channelIds = distinct.map(({ channelId }) => channelId)
  const userIds = distinct.map(({ userId }) => userId)
  const rows = await db<(MemberRef & VersionedCount)[]>`
    select
      m.channel_id, m.user_id,
      ${unread(db)} as count, ${unreadVersion(db)} as version,
      ${snapshotNumber(db)} as snapshot
    from unnest(${channelIds}::uuid[], ${userIds}::text[]) as given (channel_id, user_id)
    join members m on m.channel_id = given.channel_id and m.user_id = given.user_id
    cross join lateral (${channelOfMember(db)}) c
    where c.app_id = ${appId}`
  const counts = new Map(
    rows.map(({ channelId, userId, ...left }) => [memberKey({ channelId, userId }), left]),
  )
  return members.map((member): VersionedCount => counts.get(memberKey(member)) ?? NONE)
}

/**
 * The unread count of member row `m` in channel row `c`: all messages after the marker, less the
 * member's own, and the deleted and silent ones of others. Where everything is read, no messages
 * are looked up.
 */
export const unread = constant(
  (db) => db`
    case
      when c.last_seq <= m.unread_after_seq then 0
      else greatest(
        0,
        c.last_seq - m.unread_after_seq
        - ${ownAfterMarker(db)}
        - (${uncountedAfterMarker(db)})
      )::int
    end`,
)

/**
 * The version of the unread count of member row `m` in channel row `c`. What the count depends on
 * changes with one of the two numbers, and neither ever falls: of two counts the one with the
 * higher version is newer, and counts with the same version are the same. Users who are no members
 * have read everything, and so has one who joins.
 */
export const unreadVersion = constant((db) => db`c.rev + coalesce(m.unread_after_seq, c.last_seq)`)

/**
 * With the user, so that only `messages_own` can use it: by the seq alone, without statistics, all
 * messages of the channel after the marker are read to find one of the member's.
 */
const isAfterMarker = (db: Tx) => db`
  (msg.user_id collate "C", msg.seq) > (m.user_id, m.unread_after_seq)`

/**
 * How many messages member `m` has written after their marker, deleted ones included: the
 * difference of the numbers of the last and the first of them. If one of the two is older than
 * these numbers, the messages are counted. The collation is that of the index `messages_own`.
 */
const ownAfterMarker = (db: Tx) => db`
  coalesce((
    select
      coalesce(
        last.author_seq - first.author_seq + 1,
        (
          select count(*)
          from messages msg
          where msg.channel_id = c.id
            and msg.user_id collate "C" = m.user_id
            and ${isAfterMarker(db)}
        )
      )
    from (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
        and ${isAfterMarker(db)}
      order by msg.seq
      limit 1
    ) first
    cross join (
      select msg.author_seq
      from messages msg
      where msg.channel_id = c.id
        and msg.user_id collate "C" = m.user_id
      order by msg.seq desc
      limit 1
    ) last
  ), 0)`
