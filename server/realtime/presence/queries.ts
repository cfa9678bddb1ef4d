import { limits } from '@parley/contract'
import { type UserRef, userKey } from '../../core/user-ref.ts'
import type { DbConnection, Tx } from '../../db/client.ts'
import { pipelined } from '../../db/pipelined.ts'
import { transaction } from '../../db/transaction.ts'

export type PresenceChange = { user: UserRef; isOnline: boolean }
/** A user whose presence is announced, with the version of it. */
export type ActiveUser = UserRef & { lastActiveAt: string | null; version: number }
type ChangedUser = ActiveUser & { isOnline: boolean }

/** Writes the heartbeat. Returns its time, and whether any user of the node is stored. */
export async function writeHeartbeat(db: Tx, nodeId: string) {
  const [row] = await db<{ at: number; hasUsers: boolean }[]>`
    insert into nodes (id, beat_at)
    values (${nodeId}, now())
    on conflict (id) do update
    set beat_at = now()
    returning
      (extract(epoch from beat_at) * 1000)::float as at,
      exists (
        select
        from connections con
        where con.node_id = ${nodeId}
      ) as has_users`
  return { at: row?.at ?? 0, hasUsers: row?.hasUsers === true }
}

export const selectConnections = (db: Tx, nodeId: string) => db<UserRef[]>`
  select app_id, user_id
  from connections
  where node_id = ${nodeId}`

/** When these users were last active, for those with a row of this node. */
export const selectActive = (db: Tx, { nodeId, users }: { nodeId: string; users: UserRef[] }) => {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return db<ActiveUser[]>`
    select con.app_id, con.user_id, u.last_active_at, u.presence_version as version
    from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
    join connections con on con.node_id = ${nodeId}
      and con.app_id = given.app_id
      and con.user_id = given.user_id
    join users u on u.app_id = con.app_id and u.id = con.user_id`
}

type Writing = {
  nodeId: string
  changes: (PresenceChange & { isUncertain: boolean })[]
  /** Whether to wait for users whose row others have locked: otherwise they are left out. */
  waitsForLocks: boolean
}

/**
 * Writes who connected and who left. Returns the users whose presence has changed by that, or may
 * have changed by an uncertain write before, and who are on no other live node; and the keys of
 * those who were written.
 */
export const writePresence = (
  db: DbConnection,
  { nodeId, changes: given, waitsForLocks }: Writing,
) =>
  transaction(db, async (tx) => {
    const users = given.map(({ user }) => user)
    const free = await lockUsers(tx, { users, waitsForLocks })
    const keys = new Set((waitsForLocks ? users : free).map(userKey))
    const changes = given.filter(({ user }) => keys.has(userKey(user)))
    if (changes.length === 0) return { changed: [], written: keys }
    const appIds = changes.map(({ user }) => user.appId)
    const userIds = changes.map(({ user }) => user.userId)
    const online = changes.map(({ isOnline }) => String(isOnline))
    const uncertain = changes.map(({ isUncertain }) => String(isUncertain))
    const changed = await tx<ChangedUser[]>`
      with given as (
        select *
        from unnest(
          ${appIds}::uuid[], ${userIds}::text[],
          ${online}::text[]::boolean[], ${uncertain}::text[]::boolean[]
        ) as given (app_id, user_id, is_online, is_uncertain)
      ),
      added as (
        insert into connections (node_id, app_id, user_id)
        select ${nodeId}, app_id, user_id
        from given
        where is_online
        on conflict do nothing
        returning app_id, user_id
      ),
      removed as (
        delete from connections con
        using given
        where not given.is_online
          and con.node_id = ${nodeId}
          and con.app_id = given.app_id
          and con.user_id = given.user_id
        returning con.app_id, con.user_id
      ),
      changed as (
        select *
        from added
        union
        select *
        from removed
        union
        select app_id, user_id
        from given
        where is_uncertain
      )
      update users u
      set presence_version = u.presence_version + 1
      from given
      join changed using (app_id, user_id)
      where u.app_id = given.app_id
        and u.id = given.user_id
        and not exists (
          select
          from connections other
          join nodes n on n.id = other.node_id
          where other.app_id = given.app_id
            and other.user_id = given.user_id
            and other.node_id <> ${nodeId}
            and n.beat_at > now() - ${limits.realtime.nodeDeadSeconds} * interval '1 second'
        )
      returning
        u.app_id, u.id as user_id, given.is_online, u.last_active_at,
        u.presence_version as version`
    return { changed, written: keys }
  })

/**
 * A heartbeat up to a day ahead was written before the clock was set back. It is treated as written
 * now, so that a node which died before is found in time. A stopped node is ahead by less than the
 * grace period of its users. If this node's own fresh heartbeat looks old, the clock jumped
 * forward: no node is declared dead.
 */
export const selectDeadNodes = (
  db: Tx,
  { nodeId, deadAfterMs, graceMs }: { nodeId: string; deadAfterMs: number; graceMs: number },
) => db<{ id: string }[]>`
  with ahead as (
    update nodes
    set beat_at = now()
    where beat_at > now() + ${Math.max(deadAfterMs, graceMs)} * interval '1 millisecond'
      and beat_at < now() + interval '1 day'
  )
  select n.id
  from nodes own
  join nodes n on n.beat_at < now() - ${deadAfterMs} * interval '1 millisecond'
  where own.id = ${nodeId}
    and own.beat_at > now() - ${deadAfterMs / 2} * interval '1 millisecond'`

/** How many users of a dead node one transaction removes: a large node has too many for one. */
const USERS_A_STEP = 1_000

/**
 * Removes users of a dead node, and after the last of them the node, unless another node does.
 * Returns those who are offline by that, and whether there are more.
 */
export const removeDeadNode = (
  db: DbConnection,
  { id, deadAfterMs }: { id: string; deadAfterMs: number },
) =>
  transaction(db, async (tx) => {
    const [node] = await tx`
      select id
      from nodes
      where id = ${id}
        and beat_at < now() - ${deadAfterMs} * interval '1 millisecond'
      for update skip locked`
    if (!node) return { offline: [], isMore: false }
    const users = await tx<UserRef[]>`
      select app_id, user_id
      from connections
      where node_id = ${id}
      order by app_id, user_id
      limit ${USERS_A_STEP}`
    const appIds = users.map(({ appId }) => appId)
    const userIds = users.map(({ userId }) => userId)
    await lockUsers(tx, { users, waitsForLocks: true })
    const isMore = users.length === USERS_A_STEP
    const [, , offline] = await pipelined([
      isMore ? undefined : deleteNode(tx, id),
      tx`
        delete from connections con
        using unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
        where con.node_id = ${id}
          and con.app_id = given.app_id
          and con.user_id = given.user_id`,
      tx<ActiveUser[]>`
        update users u
        set presence_version = u.presence_version + 1
        from unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
        where u.app_id = given.app_id
          and u.id = given.user_id
          and not exists (
            select
            from connections other
            join nodes n on n.id = other.node_id
            where other.app_id = u.app_id
              and other.user_id = u.id
          )
        returning u.app_id, u.id as user_id, u.last_active_at, u.presence_version as version`,
    ])
    return { offline, isMore }
  })

const deleteNode = (tx: Tx, id: string) => tx`
  delete from nodes
  where id = ${id}`

/**
 * Makes nodes that write about the same user take turns, so that each sees what the others wrote.
 * Unless it `waitsForLocks`, users whose row others have locked are left out.
 */
function lockUsers(tx: Tx, { users, waitsForLocks }: { users: UserRef[]; waitsForLocks: boolean }) {
  const appIds = users.map(({ appId }) => appId)
  const userIds = users.map(({ userId }) => userId)
  return tx<UserRef[]>`
    select u.app_id, u.id as user_id
    from users u
    join unnest(${appIds}::uuid[], ${userIds}::text[]) as given (app_id, user_id)
      on u.app_id = given.app_id
      and u.id = given.user_id
    order by u.app_id, u.id
    for no key update of u ${waitsForLocks ? tx`` : tx`skip locked`}`
}
