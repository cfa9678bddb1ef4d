import { randomUUID } from 'node:crypto'
import { connectOnce } from '@parley/server/db/client'
import { type App, type BigApp, type Db, sizes } from './app.ts'
import { insertPins, insertRecords, insertTeam } from './beside.ts'

/** More than a page of anything. */
const LEAST = 60
/** With the others, five million messages. */
const MESSAGES_IN_CHANNEL = 37

/** Fills an app that has the users `ana`, `ben` and `busy` by SQL, and analyses the tables. */
export async function fillBigApp(
  url: string,
  { appId, scale }: { appId: string; scale: number },
): Promise<BigApp> {
  const db = connectOnce(url)
  const scaled = Object.entries(sizes).map(([name, size]) => [
    name,
    Math.max(Math.ceil(size * scale), LEAST),
  ])
  const counts: typeof sizes = Object.fromEntries(scaled)
  const [large, tombstones, team, webhook] = ids()
  const app = { appId, large, tombstones, team, webhook, counts }
  try {
    // The rows fit together: foreign keys need no check.
    await db`set session_replication_role = replica`
    await insertUsers(db, app)
    await insertGroups(db, app)
    await fillLarge(db, app)
    await fillTombstones(db, app)
    await insertChannels(db, app)
    await insertTeam(db, app)
    await insertPins(db, app)
    await insertRecords(db, app)
    await db`vacuum analyze`
    return app
  } finally {
    await db.end()
  }
}

const ids = () => [randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const

/** One of the users, by any number. */
const userOf = (n: string, { counts }: App) => `'user-' || (${n}) % ${counts.users}`

async function insertUsers(db: Db, { appId, counts }: App) {
  // Any two names differ, and each part of three letters is in a few names of a thousand.
  await db`
    insert into users (app_id, id, name)
    select
      ${appId}, 'user-' || n,
      initcap(translate(left(md5(n::text), 12), '0123456789abcdef', 'aeioubcdflmnprst'))
    from generate_series(0, ${counts.users - 1}) n`
}

async function insertGroups(db: Db, { appId, large, tombstones, counts }: App) {
  await db`
    insert into channels (id, app_id, cid, type, name, created_by, member_count, last_seq, rev)
    values
      (${large}, ${appId}, 'group:large', 'group', 'Large', 'ana', ${counts.members + 2},
        ${counts.messagesInLarge}, ${counts.messagesInLarge}),
      (${tombstones}, ${appId}, 'group:tombstones', 'group', 'Tombstones', 'ana', 2,
        ${counts.tombstones + 100}, ${counts.tombstones + 100})`
  await db`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, channel, who, 'owner'
    from unnest(${[large, tombstones]}::uuid[]) channel, unnest('{ana,ben}'::text[]) who`
}

async function fillLarge(db: Db, app: App) {
  const { appId, large, counts } = app
  await db.unsafe(`
    insert into members (
      app_id, channel_id, user_id, role, joined_at, last_read_seq, unread_after_seq
    )
    select
      '${appId}', '${large}', ${userOf('n', app)}, 'member', now() + n * interval '1 ms', read.seq,
      read.seq
    from generate_series(0, ${counts.members - 1}) n
    cross join lateral (
      select ${counts.messagesInLarge} - n % ${Math.ceil(counts.messagesInLarge / 5)} as seq
    ) read`)
  await db.unsafe(`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments
    )
    select
      gen_random_uuid(), '${appId}', '${large}', 'user-' || n % 100, n, n, (n + 99) / 100,
      'hello ' || n, '{}', '[]'
    from generate_series(1, ${counts.messagesInLarge}) n`)
}

async function fillTombstones(db: Db, { appId, tombstones, counts }: App) {
  await db.unsafe(`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments,
      deleted_at
    )
    select
      gen_random_uuid(), '${appId}', '${tombstones}', 'ben', n, n, n, '', '{}', '[]',
      case when n > 100 then now() end
    from generate_series(1, ${counts.tombstones + 100}) n`)
  await db.unsafe(`
    insert into tombstone_counts (app_id, channel_id, user_id, part, count)
    select msg.app_id, msg.channel_id, author, msg.seq / 500, count(*)
    from messages msg, unnest(array[msg.user_id, '']) author
    where msg.channel_id = '${tombstones}'
      and msg.deleted_at is not null
    group by 1, 2, 3, 4`)
}

/** Channels of a few dozen messages, half of them open; `busy` is in the first ones. */
async function insertChannels(db: Db, app: App) {
  const { appId, counts } = app
  await db.unsafe(`
    with made as (
      insert into channels (
        id, app_id, cid, type, name, created_by, member_count, last_seq, rev,
        last_activity_at, active_hour
      )
      select
        gen_random_uuid(), '${appId}', 'made:' || n,
        (array['public', 'group', 'livestream', 'private'])[n % 4 + 1],
        initcap(translate(left(md5('c' || n), 12), '0123456789abcdef', 'aeioubcdflmnprst')),
        ${userOf('n', app)}, 2, ${MESSAGES_IN_CHANNEL}, ${MESSAGES_IN_CHANNEL},
        now() - n * interval '1 minute',
        date_trunc('hour', now() - n * interval '1 minute', 'UTC')
      from generate_series(0, ${counts.channels - 1}) n
      returning id, created_by, split_part(cid, ':', 2)::int as n
    ),
    joined as (
      insert into members (app_id, channel_id, user_id, role)
      select '${appId}', id, who, 'member'
      from made, unnest(array[
        created_by,
        case when n < ${counts.channelsOfBusy} then 'busy' else ${userOf('n * 7 + 1', app)} end
      ]) who
      group by id, who
    )
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, author_seq, text, mentions, attachments
    )
    select gen_random_uuid(), '${appId}', id, created_by, seq, seq, seq, 'hello', '{}', '[]'
    from made, generate_series(1, ${MESSAGES_IN_CHANNEL}) seq`)
}
