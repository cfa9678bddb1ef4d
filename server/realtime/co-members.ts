import { limits } from '@parley/contract'
import { type UserRef, userKey } from '../core/user-ref.ts'
import type { Db, Tx } from '../db/client.ts'
import { isLargeChannelRow } from '../features/access.ts'
import { coalesce } from './coalesce.ts'
import { onceAPause } from './once-a-pause.ts'

/** Of how many users it is known when that was. */
const ENTRIES = 10_000
/** How many of a user's memberships are looked at for small channels: those of large ones count. */
const MEMBERSHIPS = 2 * limits.coMemberChannels

type CoMembersOptions = {
  db: Db
  nodeId: string
  /** How long the next reading of a user's co-members waits at least. */
  pauseMs: number
}

/**
 * Reads who of this node is told what a user does. Many changes of one user cost a reading a
 * second.
 */
export function createCoMembers({ db, nodeId, pauseMs }: CoMembersOptions) {
  const read = coalesce<UserRef, UserRef[]>(
    (users) => db.use((db) => selectCoMembers(db, nodeId, users)),
    { maxBatch: 200, laneOf: ({ appId }) => appId },
  )
  return onceAPause(read, { pauseMs, keyOf: userKey, entries: ENTRIES })
}

/**
 * The users connected to this node who share a channel with each of these users, not counting large
 * channels. The channels come first and are materialised, so the statement never reads the members
 * of a large one, however many of its members are connected. Of a user with more small channels
 * than `limits.coMemberChannels`, it reads that many, and of one with more memberships than
 * `MEMBERSHIPS`, it looks for small channels in that many.
 */
export async function selectCoMembers(db: Tx, nodeId: string, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  const rows = await db<(UserRef & { index: number })[]>`
    with shared as materialized (
      select given.index, given.user_id, small.channel_id
      from unnest(${appIds}::uuid[], ${userIds}::text[])
        with ordinality as given (app_id, user_id, index)
      cross join lateral (
        select own.channel_id
        from (
          select m.channel_id
          from members m
          where m.app_id = given.app_id
            and m.user_id = given.user_id
          limit ${MEMBERSHIPS}
        ) own
        where (
          select c.deleted_at is null and not ${isLargeChannelRow(db)}
          from channels c
          where c.id = own.channel_id
        )
        limit ${limits.coMemberChannels}
      ) small
    ),
    co_member as materialized (
      select distinct shared.index, other.app_id, other.user_id
      from shared
      join members other
        on other.channel_id = shared.channel_id
        and other.user_id <> shared.user_id
    )
    select co_member.index::int, co_member.app_id, co_member.user_id
    from co_member
    where (
      select true
      from connections con
      where con.node_id = ${nodeId}
        and con.app_id = co_member.app_id
        and con.user_id = co_member.user_id
    )`
  const coMembers = users.map((): UserRef[] => [])
  for (const { index, ...user } of rows) coMembers[index - 1]?.push(user)
  return coMembers
}
