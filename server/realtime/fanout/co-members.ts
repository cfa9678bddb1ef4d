import { limits } from '@parley/contract'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { Db, Tx } from '../../db/client.ts'
import { isLargeChannelRow } from '../../features/channels/access.ts'
import { coalesce } from '../coalesce.ts'
import { onceAPause } from './once-a-pause.ts'
import { type Connected, nodesOf } from './reach.ts'

/** For how many users the time of the last reading is remembered. */
const ENTRIES = 10_000
/** How many memberships of a user, in channels of any size, are searched for small channels. */
const MEMBERSHIPS = 2 * limits.coMemberChannels

/**
 * When many users come or go at once, more of these changes are sent to their co-members together:
 * the more users are online, the more sockets each batch is written to.
 */
const PAUSE = { eachMs: 10, mostMs: 1_000 }

type CoMembersOptions = {
  db: Db
  /** The node whose users are found; null means all nodes. */
  nodeId: string | null
  /** The least pause between two readings of a user's co-members. */
  pauseMs: number
}

/** Reads the co-members of a user, at most once a second however often the user changes. */
export function createCoMembers({ db, nodeId, pauseMs }: CoMembersOptions) {
  const read = coalesce<UserRef, Connected<UserRef>[]>(
    (users) => db.use((db) => selectCoMembers(db, nodeId, users)),
    { maxBatch: 200, groupOf: ({ appId }) => appId, pause: PAUSE },
  )
  return onceAPause(read, { pauseMs, keyOf: userKey, entries: ENTRIES })
}

type Together = Connected<{ indexes: number[]; userIds: string[] }>

/**
 * Selects the nodes that these users and those who share a small channel with them are connected
 * to. The channels come first and are materialised: the members of a large one are never read, and
 * those of a small one once, however many of these users are in it. Reads at most
 * `limits.coMemberChannels` small channels per user, and looks for them in at most `MEMBERSHIPS`
 * memberships.
 */
export async function selectCoMembers(db: Tx, nodeId: string | null, users: UserRef[]) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  const rows = await db<Together[]>`
    with given as materialized (
      select app_id, user_id, index::int
      from unnest(${appIds}::uuid[], ${userIds}::text[])
        with ordinality as given (app_id, user_id, index)
    ),
    shared as materialized (
      select small.channel_id, array_agg(given.index) as indexes
      from given
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
      group by small.channel_id
    ),
    recipients as (
      select shared.indexes, m.app_id, m.user_id, m.channel_id
      from shared
      join members m on m.channel_id = shared.channel_id
      union all
      select array[index], app_id, user_id, null
      from given
    )
    select recipients.indexes, con.node_id, array_agg(recipients.user_id) as user_ids
    from recipients
    cross join lateral ${nodesOf(db, db`recipients`, nodeId)} con
    group by recipients.channel_id, recipients.indexes, con.node_id`
  return connectedOf(users, rows)
}

/** For each user, the rows with the user's index, each once per node. */
function connectedOf(users: UserRef[], rows: Together[]): Connected<UserRef>[][] {
  const found = users.map(() => new Map<string, Set<string>>())
  for (const { indexes, nodeId, userIds } of rows) {
    for (const index of indexes) {
      const ofUser = found[index - 1]
      const known = ofUser?.get(nodeId) ?? new Set()
      for (const userId of userIds) known.add(userId)
      ofUser?.set(nodeId, known)
    }
  }
  return users.map(({ appId }, index) =>
    [...(found[index] ?? [])].flatMap(([nodeId, userIds]) =>
      [...userIds].map((userId) => ({ nodeId, appId, userId })),
    ),
  )
}
