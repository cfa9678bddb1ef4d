import { limits } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { insertUsers } from './support/inserted.ts'
import { discardPlans, rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const NEVER = 1_000_000
const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: NEVER, beatMs: NEVER, lookMs: NEVER, pingMs: NEVER },
})

const FANS = 5_000

/** A message of ana's in a channel with ben, to which many users reacted with these emojis. */
async function createReactions(...emojis: string[]) {
  const { db, appId } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const { id: channelId } = await ana.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['ben'] },
  })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const fans = await insertUsers(world(), `fan-of-${channelId}-`, FANS)
  for (const emoji of emojis)
    await db`
      insert into reactions (app_id, message_id, emoji, user_id, created_at)
      select ${appId}, ${messageId}, ${emoji}, id, now() - n * interval '1 second'
      from unnest(${fans}::text[]) with ordinality as fan (id, n)`
  await db`analyze`
  await discardPlans(world())
  return { ana, ben, fans, ref: { channelId, messageId } }
}

test('reactions of thousands of users are shown and changed without reading them all', async () => {
  const { ana, ben, fans, ref } = await createReactions('👍', '🎉')
  const { channelId } = ref
  const own = { ...ref, emoji: '👍' }
  const uses: (() => Promise<unknown>)[] = [
    () => ben.messages.list({ channelId }),
    () => ben.messages.get(ref),
    () => ben.channels.list({}),
    async () => {
      await ben.reactions.add(own)
      await ben.reactions.remove(own)
    },
    () => ana.messages.edit({ ...ref, text: `hi ${Math.random()}` }),
  ]
  for (const plan of ['generic', 'custom'] as const)
    for (const use of uses) expect(await rowsReadBy(world(), plan, use), `${use}`).toBeLessThan(500)
  const { messages } = await ben.messages.list({ channelId })
  const last = fans.toReversed().slice(0, limits.reactionUsers)
  expect(messages[0]?.reactions.map(({ count }) => count)).toEqual([FANS, FANS])
  expect(messages[0]?.reactions[0]?.users.map(({ id }) => id)).toEqual(last)
})

test('a stored reaction count stays exact, and is deleted with its message', async () => {
  const { db, appId } = world()
  const { ana, ben, fans, ref } = await createReactions('👍')
  const own = { ...ref, emoji: '👍' }
  const counts = async () => (await ana.messages.get(ref)).reactions.map(({ count }) => count)
  const removeOf = (ids: string[]) => db`
    delete from reactions
    where app_id = ${appId}
      and message_id = ${ref.messageId}
      and user_id = any(${ids}::text[])`
  expect((await ben.reactions.add(own)).reactions).toMatchObject([{ count: FANS + 1, own: true }])
  await removeOf(fans.slice(0, FANS - 2))
  expect(await counts()).toEqual([3])
  await ben.reactions.remove(own)
  expect(await counts()).toEqual([2])
  await removeOf(fans)
  expect(await counts()).toEqual([])
  await ben.reactions.add(own)
  expect(await counts()).toEqual([1])
  await db`
    delete from messages
    where app_id = ${appId}
      and id = ${ref.messageId}`
  expect(
    await db`
      select
      from reaction_counts
      where message_id = ${ref.messageId}`,
  ).toHaveLength(0)
})

test('a reaction count is stored from the hundredth user on', async () => {
  const { db, appId } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const fans = await insertUsers(world(), 'late-', 100)
  const react = (ids: string[]) => db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, ${messageId}, '👍', id
    from unnest(${ids}::text[]) id`
  const kept = async () =>
    (
      await db<{ count: number }[]>`
        select count
        from reaction_counts
        where message_id = ${messageId}`
    ).map(({ count }) => count)
  await react(fans.slice(0, 99))
  expect(await kept()).toEqual([])
  await react(fans.slice(99))
  expect(await kept()).toEqual([100])
})

test('users of reactions with large images leave a message under a megabyte', async () => {
  const { db, appId } = world()
  const ana = await world().user('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
  const fans = await insertUsers(world(), 'large-', limits.reactionUsers)
  const image = `https://example.com/${'😀'.repeat(limits.urlLength - 20)}`
  await db`
    update users
    set image = ${image}
    where app_id = ${appId}
      and id = any(${fans})`
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, ${messageId}, ':' || n || ':', id
    from generate_series(1, ${limits.reactionKinds}) n, unnest(${fans}::text[]) id`
  const { reactions } = await ana.messages.get({ channelId, messageId })
  expect(reactions.map(({ count }) => count)).toEqual(
    Array.from({ length: limits.reactionKinds }, () => limits.reactionUsers),
  )
  // The first users of several emoji, and not all of the first emoji.
  expect(Math.max(...reactions.map(({ users }) => users.length))).toBe(1)
  const bytes = Buffer.byteLength(JSON.stringify(reactions.map(({ users }) => users)))
  expect(bytes).toBeGreaterThan(limits.reactionUserBytes / 2)
  expect(bytes).toBeLessThan(limits.reactionUserBytes + 1024)
})

/** A role that reads and writes reactions only, and a connection that acts as it. */
async function reactingRole() {
  const role = `reacting_${process.pid}`
  const sql = connectOnce(world().databaseUrl)
  await sql.unsafe(`
    create role ${role};
    grant select, delete on reactions to ${role};
    create schema ${role} authorization ${role}`)
  onTestFinished(async () => {
    await sql.unsafe(`reset role; drop owned by ${role}; drop role ${role}`)
    await sql.end()
  })
  await sql.unsafe(`set role ${role}`)
  return { role, sql }
}

test('reactions are counted for a role that has no rights to the counts yet', async () => {
  const { ana, fans, ref } = await createReactions('👍')
  const { sql } = await reactingRole()
  // A server does this while the migration goes on, which grants rights at its end.
  await sql.unsafe(`
    delete from reactions where message_id = '${ref.messageId}' and user_id = '${fans[0]}'`)
  const { reactions } = await ana.messages.get(ref)
  expect(reactions.map(({ count }) => count)).toEqual([FANS - 1])
})

test('the rights to count reactions give no other rights', async () => {
  const { ana, fans, ref } = await createReactions('👍')
  const { role, sql } = await reactingRole()
  // The owner of the counts would fire this trigger, were this table taken for theirs.
  await sql.unsafe(`
    create temporary table reaction_counts (message_id uuid, emoji text, count int);
    create function pg_temp.intrude() returns trigger language plpgsql
      as $$ begin raise 'in the name of %', current_user; end $$;
    create trigger intrude before insert or update on pg_temp.reaction_counts
      for each statement execute function pg_temp.intrude();
    delete from reactions where message_id = '${ref.messageId}' and user_id = '${fans[0]}'`)
  const own = `create table ${role}.mine (message_id uuid, emoji text)`
  const counting = `
    create trigger counting after insert on ${role}.mine
      referencing new table as changed
      for each statement execute function public.count_reactions('1000')`
  await expect(sql.unsafe(`${own}; ${counting}`)).rejects.toThrow('permission denied for function')
  const { reactions } = await ana.messages.get(ref)
  expect(reactions.map(({ count }) => count)).toEqual([FANS - 1])
})
