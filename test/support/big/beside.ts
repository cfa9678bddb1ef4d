import { limits } from '@parley/contract'
import type { App, Db } from './app.ts'

/** A workspace of `ana` with many members, channels and invites, and many workspaces of `busy`. */
export async function insertTeam(db: Db, { appId, team, counts }: App) {
  const { members, channelsOfBusy } = counts
  await db`
    with made as (
      insert into workspaces (id, app_id, name, type, created_by)
      select
        case when n = 0 then ${team}::uuid else gen_random_uuid() end,
        ${appId}, 'Team ' || n, 'team', 'ana'
      from generate_series(0, ${channelsOfBusy}) n
      returning id
    )
    insert into workspace_members (app_id, workspace_id, user_id, role, joined_at)
    select
      ${appId}::uuid, id, 'busy', 'member',
      -- Its many members are counted with its page, which is never the first.
      case when id = ${team}::uuid then now() + interval '1 day' else now() end
    from made
    union all
    select ${appId}::uuid, ${team}::uuid, 'ana', 'owner', now()`
  await db`
    insert into workspace_members (app_id, workspace_id, user_id, role, joined_at)
    select ${appId}, ${team}, 'user-' || n, 'member', now() + n * interval '1 ms'
    from generate_series(0, ${members - 1}) n`
  await db`
    with made as (
      insert into channels (id, app_id, cid, type, name, created_by, workspace_id, member_count)
      select gen_random_uuid(), ${appId}, 'team:' || n, 'team', 'Team ' || n, 'ana', ${team}, 2
      from generate_series(1, ${channelsOfBusy}) n
      returning id
    )
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, id, 'user-' || given, 'member'
    from made, generate_series(1, 2) given`
  await db`
    insert into workspace_invites (
      id, app_id, workspace_id, token_hash, role, created_by, expires_at
    )
    select
      gen_random_uuid(), ${appId}, ${team}, ${appId}::text || n, 'member', 'ana',
      now() + interval '7 days'
    from generate_series(1, ${channelsOfBusy}) n`
}

/** One less than a channel may have. */
export const PINS = limits.pins - 1

/** The newest messages of the large channel are pinned, and their readers' times are known. */
export async function insertPins(db: Db, { appId, large, counts }: App) {
  await db`
    insert into pins (app_id, channel_id, message_id, pinned_by)
    select ${appId}, ${large}, msg.id, 'ana'
    from messages msg
    where msg.channel_id = ${large}
      and msg.seq > ${counts.messagesInLarge - PINS}`
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select m.app_id, m.channel_id, m.user_id, m.last_read_seq
    from members m
    where m.channel_id = ${large}
      and m.last_read_seq > 0`
}

/** Events, deliveries, jobs that were given up, entries of the audit log, and other apps. */
export async function insertRecords(db: Db, { appId, large, webhook, counts }: App) {
  const { events, records, messagesInLarge } = counts
  await db`
    insert into events (topic, "offset", type, envelope)
    select
      ${`chat:${appId}:${large}`}, ${messagesInLarge} - n, 'typing.test',
      '{"type":"typing.test","payload":{}}'
    from generate_series(0, ${Math.min(events, messagesInLarge) - 1}) n`
  await db`
    insert into webhooks (id, app_id, url, events, secret)
    values (${webhook}, ${appId}, 'https://example.com', '{workspace.removed}', 'secret')`
  await db`
    insert into webhook_deliveries (
      app_id, webhook_id, topic, "offset", event_type, status, next_attempt_at
    )
    select ${appId}, ${webhook}, 'topic', n, 'message.new', 'delivered', null
    from generate_series(1, ${records}) n`
  await db`
    insert into audit (app_id, actor, operation, target)
    select
      case when n % 2 = 0 then ${appId}::uuid end, 'key',
      'channels.' || case n % 2 when 0 then 'update' else 'delete' end, '{}'
    from generate_series(1, ${records}) n`
  await db`
    insert into apps (id, name)
    select gen_random_uuid(), 'Other ' || n
    from generate_series(1, ${counts.channelsOfBusy}) n`
}
