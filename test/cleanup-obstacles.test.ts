import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cancelLarge } from './support/cancel-large.ts'
import { cleanupElsewhere, erased } from './support/cleanup.ts'
import { channelEventsOf } from './support/events.ts'
import { insertUsers } from './support/inserted.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

/** Obstacles of the cleanup: rows that others hold, and more rows than a statement can delete. */

const world = useWorld()
/** PostgreSQL's code for a statement that waited too long for a lock. */
const LOCK_TIMEOUT = '55P03'
const impatient = { patience: { callMs: 60_000, statementMs: 400 }, mayFail: true }

/** Holds rows locked from a connection of its own while `work` runs. */
async function whileHeld(
  table: 'channels' | 'users',
  ids: string[],
  work: () => Promise<void>,
): Promise<void> {
  const third = connectOnce(world().databaseUrl)
  onTestFinished(() => third.end())
  await third.begin(async (sql) => {
    await sql`
      select from ${sql(table)}
      where id::text = any(${ids})
        and app_id = ${world().appId}
      for update`
    await work()
  })
}

/** Deletes like a node that dies right after it: no node is notified. */
const markDeleted = (table: 'channels' | 'users', ids: string[]) => world().db`
  update ${world().db(table)}
  set deleted_at = now()
  where id::text = any(${ids})
    and app_id = ${world().appId}`

async function ageEvents(channelId: string) {
  await world().db`
    update events
    set created_at = now() - interval '3 days'
    where topic like ${`%${channelId}`}`
  return async () => (await channelEventsOf(world(), channelId)).filter(({ offset }) => offset < 3)
}

test.for(['channels', 'users'] as const)(
  'a deleted user whom the cleanup cannot erase stops nothing else: held in %s',
  async (table) => {
    const [held, free, ana] = await world().users(`held-${table}`, `free-${table}`, 'own-ana')
    const group = async (name: string, memberIds: string[]) =>
      (await ana.channels.create({ type: 'group', name, memberIds })).id
    const shared = await group('Held', [held.id])
    const other = await group('Free', [held.id, free.id])
    const oldEvents = await ageEvents(other)
    await markDeleted('users', [held.id, free.id])
    const cleanup = cleanupElsewhere(world(), impatient)
    const membersOf = async (channelId: string) =>
      (await ana.members.list({ channelId })).members.map(({ userId }) => userId).sort()
    await whileHeld(table, table === 'channels' ? [shared] : [held.id], async () => {
      await vi.waitFor(async () => {
        await cleanup.run()
        const expected = table === 'channels' ? [ana.id] : [held.id, ana.id]
        expect(await membersOf(other)).toEqual(expected)
        expect(await oldEvents()).toEqual([])
      }, patient)
      expect(await membersOf(shared)).toEqual([held.id, ana.id])
      expect((await cleanup.failedTasks()).users).toBeGreaterThan(0)
    })
    await vi.waitFor(async () => {
      await cleanup.run()
      expect(await membersOf(shared)).toEqual([ana.id])
    }, patient)
  },
)

test('a deleted channel that the cleanup cannot purge stops nothing else', async () => {
  const pam = await world().user('pam')
  const [held = '', free = '', old = ''] = await Promise.all(
    ['Held', 'Free', 'Old'].map(
      async (name) => (await pam.channels.create({ type: 'group', name })).id,
    ),
  )
  const oldEvents = await ageEvents(old)
  await markDeleted('channels', [held])
  await markDeleted('channels', [free])
  const cleanup = cleanupElsewhere(world(), impatient)
  const left = async () => {
    await cleanup.run()
    const rows = await world().db<{ id: string }[]>`
      select id
      from channels
      where id = any(${[held, free]}::uuid[])`
    return rows.map(({ id }) => id)
  }
  await whileHeld('channels', [held], async () => {
    await vi.waitFor(async () => {
      expect(await left()).toEqual([held])
      expect(await oldEvents()).toEqual([])
      // A step that waited for as long as a statement may would look like one that is too large.
      expect(cleanup.errors.map((error) => Object(error).code)).toContain(LOCK_TIMEOUT)
    }, patient)
    expect((await cleanup.failedTasks()).channels).toBeGreaterThan(0)
  })
  await vi.waitFor(async () => expect(await left()).toEqual([]), patient)
})

test('a member with more read marks than a statement can delete is purged in parts', async () => {
  const { db, appId } = world()
  const many = await world().user('many-marks')
  const [gone, left] = await Promise.all(
    ['Gone', 'Left'].map((name) => many.channels.create({ type: 'group', name })),
  )
  const ids = [gone?.id ?? '', left?.id ?? '']
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select ${appId}, id, 'many-marks', n
    from unnest(${ids}::uuid[]) id, generate_series(1, 500) n`
  await cancelLarge(world(), 100)
  await markDeleted('channels', ids.slice(0, 1))
  await markDeleted('users', ['many-marks'])
  const cleanup = cleanupElsewhere(world())
  await cleanup.pass()
  const marks = await db`
    select from read_marks
    where app_id = ${appId}
      and user_id = 'many-marks'`
  expect(marks).toHaveLength(0)
  expect(await cleanup.failedTasks()).toEqual({})
})

test('a user whose reactions cannot be erased does not count as erased', async () => {
  const { db, appId } = world()
  const [stuck, ada] = await world().users('stuck', 'stuck-ada')
  const memberIds = [stuck.id]
  const { id: channelId } = await ada.channels.create({ type: 'group', name: 'Stuck', memberIds })
  const { id: messageId } = await ada.messages.send({ channelId, text: 'hello' })
  await stuck.reactions.add({ channelId, messageId, emoji: '👍' })
  await db.unsafe(`
    create function keep_stuck() returns trigger language plpgsql as $$
      begin
        raise exception 'kept';
      end
    $$;
    create trigger keep_stuck before delete on reactions
    for each row when (old.user_id = 'stuck') execute function keep_stuck()`)
  onTestFinished(async () => {
    await db`drop function if exists keep_stuck cascade`
  })
  await markDeleted('users', [stuck.id])
  const cleanup = cleanupElsewhere(world(), { mayFail: true })
  await cleanup.pass()
  expect((await cleanup.failedTasks()).users).toBeGreaterThan(0)
  const waiting = () => db`
    select
    from users
    where app_id = ${appId}
      and id = ${stuck.id}
      and forgotten_at is null`
  expect(await waiting()).toHaveLength(1)
  await db`drop function keep_stuck cascade`
  await erased(world())
  expect(await waiting()).toEqual([])
  const { messages } = await ada.messages.list({ channelId })
  expect(messages[0]?.reactions).toEqual([])
})

test('erasing a long history in many steps reads each message only a few times', async () => {
  const { db, appId } = world()
  const [ana, bot] = await world().users('bot-ana', 'bot')
  const { id } = await ana.channels.create({ type: 'group', name: 'Bots', memberIds: [bot.id] })
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id}, 'bot', n, n + 2, 'm' || n, '{}', '[]'
    from generate_series(1, 3000) n`
  await db`update channels set last_seq = 3000, rev = 3002 where id = ${id}`
  const rowsRead = async () => {
    const [row] = await db<{ rows: number }[]>`
      select sum(idx_tup_read)::int as rows
      from pg_stat_user_indexes
      where relname = 'messages'`
    return row?.rows ?? 0
  }
  const before = await rowsRead()
  await markDeleted('users', [bot.id])
  await erased(world())
  await world().pool.use((connection) => connection`select pg_stat_force_next_flush()`)
  expect((await ana.messages.list({ channelId: id })).messages).toEqual([])
  const read = await vi.waitFor(async () => {
    const rows = (await rowsRead()) - before
    expect(rows).toBeGreaterThan(8_000)
    return rows
  }, patient)
  // Each message is read three or four times, by the indexes that lead to it.
  expect(read).toBeLessThan(20_000)
})

test('users who were erased long ago do not keep others from being erased', async () => {
  const { db, appId } = world()
  const former = await insertUsers(world(), 'forgotten', 1_000)
  await db`
    update users
    set
      deleted_at = now() - interval '1 year',
      forgotten_at = now() - interval '1 year'
    where app_id = ${appId}
      and id = any(${former})`
  const late = await world().user('late')
  await markDeleted('users', [late.id])
  await erased(world())
})
