import { randomUUID } from 'node:crypto'
import { connectOnce } from '@parley/server/db/client'
import { migrate } from '@parley/server/db/migrate'
import { readMigrations } from '@parley/server/db/migration-files'
import { expect, onTestFinished, test } from 'vitest'
import { createEmptyDatabase, migrateUpTo } from './support/migrations.ts'
import { until } from './support/until.ts'

const migration = requireMigration('0039_reaction_counts')

function requireMigration(name: string) {
  const found = readMigrations().find((one) => one.name === name)
  if (!found) throw new Error(`no migration ${name}`)
  return found
}

/** The first message has reactions of this many users and one more, each later one of one more. */
const FEWEST = 195
const MESSAGES = 12
const USERS = 400

/** Messages that many users reacted to before counts were kept, in the order of their ids. */
async function createReactions() {
  const url = await createEmptyDatabase()
  await migrateUpTo(url, '0038_stopped_nodes')
  const connect = () => {
    const sql = connectOnce(url)
    onTestFinished(() => sql.end())
    return sql
  }
  const sql = connect()
  const [appId, channelId] = [randomUUID(), randomUUID()]
  const messageIds = Array.from({ length: MESSAGES }, () => randomUUID()).toSorted()
  await sql`insert into apps (id, name) values (${appId}, 'App')`
  await sql`
    insert into users (app_id, id)
    select ${appId}, 'user-' || n
    from generate_series(1, ${USERS}) n`
  await sql`
    insert into channels (id, app_id, cid, type, created_by)
    values (${channelId}, ${appId}, 'group:talk', 'group', 'user-1')`
  await sql`
    insert into messages (
      id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments
    )
    select id, ${appId}, ${channelId}, 'user-1', n, n, '', '{}', '[]'
    from unnest(${messageIds}::uuid[]) with ordinality as given (id, n)`
  await sql`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, message.id, '👍', 'user-' || n
    from unnest(${messageIds}::uuid[]) with ordinality as message (id, place)
    cross join lateral generate_series(1, ${FEWEST} + message.place) n`
  // With this setting the counts are stored in the order of the ids.
  await sql.unsafe(`alter database ${sql.options.database} set enable_hashagg = off`)
  return { url, connect, sql, appId, channelId, messageIds }
}

type Reactions = Awaited<ReturnType<typeof createReactions>>

/** Lets the migration go on until it stores the count of this message, which waits for `goOn`. */
async function migrateUntil({ url, connect, sql }: Reactions, messageId: string) {
  // An interrupted run has left the table. What waits there holds no transaction of ours up.
  const [createTable = ''] = migration.statements
  await sql.unsafe(`
    ${createTable}
    create function wait() returns trigger language plpgsql
      as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on reaction_counts for each row
      when (new.message_id = '${messageId}') execute function wait()`)
  const other = connect()
  await other`select pg_advisory_lock(1)`
  const migrated = migrate(url).then(
    () => 'migrated',
    () => 'failed',
  )
  await until(async () => {
    const [waiting] = await sql`
      select
      from pg_stat_activity
      where application_name = 'parley-migrations'
        and datname = current_database()
        and wait_event = 'advisory'`
    return waiting
  })
  return {
    goOn: async () => {
      await other`select pg_advisory_unlock(1)`
      return await migrated
    },
  }
}

const selectKept = ({ sql }: Reactions) => sql<{ messageId: string; count: number }[]>`
  select message_id as "messageId", count
  from reaction_counts
  order by message_id`

const selectActual = ({ sql }: Reactions) => sql<{ messageId: string; count: number }[]>`
  select message_id as "messageId", count(*)::int
  from reactions
  group by message_id
  order by message_id`

/** The changes of a server of the version before, which locks the channel. */
function oldNode({ connect, appId, channelId }: Reactions, lockTimeout = '0') {
  const node = connect()
  const change = async (statement: () => Promise<unknown>) => {
    await node`begin`
    await node`select set_config('lock_timeout', ${lockTimeout}, true)`
    await node`select from channels where id = ${channelId} for no key update`
    await statement()
    await node`commit`
  }
  return {
    add: (messageId: string, userId: string) =>
      change(
        () => node`
          insert into reactions (app_id, message_id, emoji, user_id)
          values (${appId}, ${messageId}, '👍', ${userId})
          on conflict do nothing`,
      ),
    remove: (messageId: string, userId: string) =>
      change(
        () => node`
          delete from reactions
          where message_id = ${messageId}
            and emoji = '👍'
            and user_id = ${userId}`,
      ),
  }
}

/** All kept counts are exact, and messages that many had reacted to before have one. */
async function expectExactCounts(reactions: Reactions) {
  const kept = await selectKept(reactions)
  const actual = await selectActual(reactions)
  const keptIds = new Set(kept.map(({ messageId }) => messageId))
  expect(kept).toEqual(actual.filter(({ messageId }) => keptIds.has(messageId)))
  const manyIds = reactions.messageIds.slice(200 - FEWEST - 1)
  expect(manyIds.filter((id) => !keptIds.has(id))).toEqual([])
}

test('reacting does not wait while older reactions are counted', async () => {
  const reactions = await createReactions()
  const last = reactions.messageIds.at(-1) ?? ''
  const { goOn } = await migrateUntil(reactions, last)
  // They are stored for good. Where fewer had reacted, nothing is kept until another user does.
  const stored = await selectKept(reactions)
  expect(stored.map(({ count }) => count)).toEqual([200, 201, 202, 203, 204, 205, 206])
  const node = oldNode(reactions, '1s')
  for (const messageId of reactions.messageIds.filter((id) => id !== last)) {
    await node.add(messageId, `user-${USERS}`)
    await node.remove(messageId, 'user-1')
    await node.remove(messageId, 'user-2')
  }
  expect(await goOn()).toBe('migrated')
  await expectExactCounts(reactions)
})

test('reactions of an old server amid the migration are counted, each of them once', async () => {
  const reactions = await createReactions()
  const last = reactions.messageIds.at(-1) ?? ''
  const others = reactions.messageIds.filter((id) => id !== last)
  let isOver = false
  let changes = 0
  const writeOn = async (offset: number) => {
    const node = oldNode(reactions)
    for (let n = offset; !isOver; n += 7) {
      const messageId = others[n % others.length] ?? ''
      // Those who had reacted take it back, the others react.
      const userId = `user-${(n % USERS) + 1}`
      await (n % 2 === 0 ? node.remove(messageId, userId) : node.add(messageId, userId))
      changes += 1
    }
  }
  const writing = Promise.all([1, 2, 4].map(writeOn))
  try {
    const { goOn } = await migrateUntil(reactions, last)
    const before = changes
    await until(() => changes >= before + 100)
    expect(await goOn()).toBe('migrated')
    const after = changes
    await until(() => changes >= after + 10)
  } finally {
    isOver = true
    await writing
  }
  await expectExactCounts(reactions)
})

test('counting that was interrupted goes on, and reactions meanwhile are counted', async () => {
  const reactions = await createReactions()
  const { sql, messageIds, url } = reactions
  const { goOn } = await migrateUntil(reactions, messageIds[6] ?? '')
  const node = oldNode(reactions)
  await node.add(messageIds[5] ?? '', `user-${USERS}`)
  await sql`
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where application_name = 'parley-migrations'
      and datname = current_database()`
  expect(await goOn()).toBe('failed')
  for (const messageId of messageIds) await node.remove(messageId, 'user-1')
  await migrate(url)
  for (const messageId of messageIds) await node.add(messageId, 'user-1')
  await expectExactCounts(reactions)
})
