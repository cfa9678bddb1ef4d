import { isDuplicate, type Tx } from '../../db/client.ts'
import { nextOwner } from '../members/change.ts'
import { lockHidden, storePins, storeReactions, storeReads } from './marks.ts'
import { STEP, storeMessages } from './number.ts'
import { deleteNotes, type ReadChannel, selectRead } from './read-channels.ts'
import type { Refusal } from './records.ts'
import { TAKEN_PAIR } from './rules.ts'
import { UNSET_MARKER } from './store.ts'

/** How many channels are finished together. */
const CHANNELS = 20

type FinishOptions = {
  appId: string
  runId: string
  /** Runs a step in a transaction of its own. */
  step: <T>(work: (db: Tx) => Promise<T>) => Promise<T>
  onRefusal: (refusal: Refusal) => void
}

/**
 * Orders and stores what an import has read, and shows the channels of its file, some at a time.
 * Channels of other files wait for the rest of these. Each step is a short transaction that removes
 * what it stores from the waiting records, so after any interruption the next import continues
 * there.
 */
export async function finishChannels({ appId, runId, step, onRefusal }: FinishOptions) {
  for (let after = ''; ; ) {
    const channels = await step((db) => selectRead(db, { appId, runId, after, most: CHANNELS }))
    const channelIds = channels.map(({ id }) => id)
    const last = channelIds.at(-1)
    if (last === undefined) break
    after = last
    const query = { appId, channelIds }
    await repeat(() => step((db) => storeMessages(db, query)))
    for (const store of [storeReactions, storePins, storeReads]) {
      await repeat(async () => {
        const { count, refusals } = await step((db) => store(db, query))
        for (const refusal of refusals) onRefusal(refusal)
        return count
      })
    }
    await finishMembers({ ...query, step })
    const show = () => step((db) => publish(db, { appId, channels }))
    // Two users may begin their direct message at that moment: another look finds it.
    const refusals = await show().catch((error) => {
      if (!isDuplicate(error)) throw error
      return show()
    })
    for (const refusal of refusals) onRefusal(refusal)
  }
  await repeat(() => step((db) => refreshMembers(db, appId)))
}

/** Repeats a step until it finds fewer rows than it may take. */
async function repeat(step: () => Promise<number>) {
  while ((await step()) >= STEP);
}

type Members = { appId: string; channelIds: string[]; after: string }
type LastMember = { channelId: string; userId: string; count: number }

/** Finishes the members of these channels, some in each step, and none twice. */
async function finishMembers({
  step,
  ...query
}: Omit<Members, 'after'> & Pick<FinishOptions, 'step'>) {
  let rest: Members = { ...query, after: '' }
  for (;;) {
    const last = await step((db) => setMarkers(db, rest))
    if (!last || last.count < STEP) break
    const { channelIds } = rest
    rest = {
      ...rest,
      channelIds: channelIds.slice(channelIds.indexOf(last.channelId)),
      after: last.userId,
    }
  }
}

/**
 * Sets the markers of members without a read position: nothing is unread for them, as if they had
 * just joined. Notes that the clients of all of them have to load their channels again: also those
 * that an interrupted run has noted, because the import of another file may have used that up.
 */
async function setMarkers(db: Tx, { appId, channelIds, after }: Members) {
  const [last] = await db<LastMember[]>`
    with due as materialized (
      select given.ordinal, next.*
      from (
        select *
        from unnest(${channelIds}::uuid[]) with ordinality as given (id, ordinal)
        order by ordinal -- so that no more channels are read than a step needs
      ) given
      cross join lateral (
        select m.channel_id, m.user_id, m.unread_after_seq
        from members m
        where m.channel_id = given.id
          and m.user_id > case given.ordinal when 1 then ${after} else '' end
          and m.app_id is not distinct from ${appId}
        order by m.user_id
        limit ${STEP}
      ) next
      order by given.ordinal, next.user_id
      limit ${STEP}
    ),
    noted as (
      insert into imported_rows (app_id, record, key, channel_id, line, "row")
      select distinct on (user_id) ${appId}::uuid, 'refresh', user_id, channel_id, 0, '{}'::jsonb
      from due
      order by user_id
      on conflict do nothing
    ),
    marked as (
      update members m
      set unread_after_seq = c.last_seq
      from due
      join channels c on c.id = due.channel_id
      where m.channel_id = due.channel_id
        and m.user_id = due.user_id
        and due.unread_after_seq = ${UNSET_MARKER}
    )
    select channel_id, user_id, (select count(*)::int from due) as count
    from due
    order by ordinal desc, user_id desc
    limit 1`
  return last
}

type Publish = { appId: string; channels: ReadChannel[] }

/**
 * Shows channels with exact counters, because the erasure of a member locks the channel, too. A
 * direct message whose users have started another meanwhile stays hidden, and is refused.
 */
export async function publish(db: Tx, { appId, channels }: Publish): Promise<Refusal[]> {
  const channelIds = channels.map(({ id }) => id)
  await lockHidden(db, { appId, channelIds })
  await db`
    update channels c
    set
      deleted_at = null,
      cid = ${freeCid(db, appId)},
      updated_at = ${changedWhenShown(db)},
      rev = c.last_seq + 1,
      member_count = (
        select count(*)
        from members m
        where m.channel_id = c.id
      ),
      active_hour = date_trunc('hour', c.last_activity_at, 'UTC')
    where c.id = any(${channelIds}::uuid[])
      and c.app_id is not distinct from ${appId}
      and c.deleted_at = 'infinity'
      and not exists (
        select
        from channels other
        where other.app_id = ${appId}
          and other.dm_key = c.dm_key
          and other.deleted_at is null
      )`
  await appointOwners(db, { appId, channelIds })
  await deleteNotes(db, { appId, ids: channelIds })
  const hidden = await db<{ id: string }[]>`
    select c.id
    from channels c
    where c.id = any(${channelIds}::uuid[])
      and c.app_id is not distinct from ${appId}
      and c.deleted_at = 'infinity'`
  const ids = new Set(hidden.map(({ id }) => id))
  return channels.flatMap(({ id, line }) => (ids.has(id) ? { line, reason: TAKEN_PAIR } : []))
}

/** Servers of earlier versions gave a direct message a cid that another may have by now. */
const freeCid = (db: Tx, appId: string) => db`
  case
    when exists (
      select
      from channels other
      where other.app_id = ${appId}
        and other.cid = c.cid
        and other.deleted_at is null
    ) then c.cid || '-' || c.id
    else c.cid
  end`

/**
 * A channel is as old as its file says. One without members would be purged as abandoned if its
 * last message is old, so the time until then starts now.
 */
const changedWhenShown = (db: Tx) => db`
  case
    when exists (select from members m where m.channel_id = c.id) then c.created_at
    else now()
  end`

/**
 * Appoints owners where one was erased before the channel was shown: only now all members are
 * known.
 */
const appointOwners = (
  db: Tx,
  { appId, channelIds }: { appId: string; channelIds: string[] },
) => db`
  with unowned as (
    delete from imported_rows
    where app_id = ${appId}
      and record = 'owner'
      and key = any(${channelIds}::text[])
    returning channel_id
  )
  update members m
  set role = 'owner'
  from unowned
  where m.channel_id = unowned.channel_id
    and m.user_id = (${nextOwner(db, db`unowned.channel_id`)})`

/**
 * Skips an offset in the topic of each user with new channels. Their clients cannot recover over
 * it, so they load the current state. A new epoch would do this to all users of all apps.
 */
async function refreshMembers(db: Tx, appId: string) {
  const refreshed = await db`
    with due as (
      delete from imported_rows
      where app_id = ${appId}
        and record = 'refresh'
        and key = any(array(
          select ir.key
          from imported_rows ir
          where ir.app_id = ${appId}
            and ir.record = 'refresh'
          order by ir.key
          limit ${STEP}
        ))
      returning key
    )
    insert into user_streams as us (app_id, user_id, last_offset)
    select ${appId}, due.key, 1
    from due
    order by due.key
    on conflict (app_id, user_id) do update set last_offset = us.last_offset + 1`
  return refreshed.count
}
