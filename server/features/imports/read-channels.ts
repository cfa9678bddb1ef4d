import { limits } from '@parley/contract'
import type { Tx } from '../../db/client.ts'

/** A channel whose line a run has read, and where. */
export type ReadChannel = { id: string; line: number }
type Run = { appId: string; runId: string }

/**
 * Notes that a run has read the lines of these channels, which nobody sees yet. Only these are
 * shown at its end, and the cleanup leaves them alone from now on.
 */
export async function noteChannels(db: Tx, { appId, runId }: Run, channels: ReadChannel[]) {
  if (channels.length === 0) return
  // If a channel comes more than once, the first line counts.
  const lines = new Map(channels.toReversed().map(({ id, line }) => [id, line]))
  await db`
    with given as materialized (
      select *
      from unnest(${[...lines.keys()]}::uuid[], ${[...lines.values()]}::int[]) as given (id, line)
    ),
    touched as (
      update channels c
      set updated_at = now()
      from given
      where c.id = given.id
        and c.app_id is not distinct from ${appId}
        and c.deleted_at = 'infinity'
    )
    insert into imported_rows (app_id, record, key, channel_id, line, "row")
    select
      ${appId}::uuid, 'channel', given.id::text, given.id, given.line,
      jsonb_build_object('runId', ${runId}::text)
    from given
    order by given.id
    on conflict (app_id, record, key) do update
    set line = excluded.line, "row" = excluded."row"`
}

/** The next channels that a run has read. */
export const selectRead = (
  db: Tx,
  { appId, runId, after, most }: Run & { after: string; most: number },
) => db<ReadChannel[]>`
  select ir.channel_id as id, ir.line
  from imported_rows ir
  where ir.app_id = ${appId}
    and ir.record = 'channel'
    and ir.key > ${after}
    and ir."row" ->> 'runId' = ${runId}
  order by ir.key
  limit ${most}`

export const deleteNotes = (db: Tx, { appId, ids }: { appId: string; ids: string[] }) => db`
  delete from imported_rows
  where app_id = ${appId}
    and record = 'channel'
    and key = any(${ids}::text[])`

/**
 * The first channels that wait for the end of their files. Servers of older versions show channels
 * without removing these notes.
 */
export async function selectUnfinished(db: Tx, appId: string) {
  const rows = await db<{ id: string }[]>`
    select ir.channel_id as id
    from imported_rows ir
    join channels c on c.id = ir.channel_id
    where ir.app_id = ${appId}
      and ir.record = 'channel'
      and c.deleted_at = 'infinity'
    order by ir.key
    limit ${limits.imports.unfinishedShown}`
  return rows.map(({ id }) => id)
}
