import { expect, onTestFinished, test, vi } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { channelEventsOf, upTo } from './support/events.ts'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { whileRowLocked, withoutCleanup } from './support/locks.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('sends during a channel deletion succeed or get NOT_FOUND, and no rows remain', async () => {
  const [pia, quy] = await world().users('pia', 'quy')
  for (const round of upTo(4)) {
    const { id: channelId } = await pia.channels.create({
      type: 'group',
      name: `Gone ${round}`,
      memberIds: ['quy'],
    })
    const { id: messageId } = await quy.messages.send({ channelId, text: 'first' })
    await quy.reactions.add({ channelId, messageId, emoji: '👍' })
    // No cleanup runs: one that another test kept waiting may be due now.
    const { outcomes, events } = await withoutCleanup(world(), async () => {
      const sends = upTo(20).map((n) => quy.messages.send({ channelId, text: `m${n}` }))
      const [outcomes] = await Promise.all([
        Promise.allSettled(sends),
        pia.channels.delete({ channelId }),
      ])
      return { outcomes, events: await channelEventsOf(world(), channelId) }
    })
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    for (const code of codes) expect(code).toBe('NOT_FOUND')
    expect(events.at(-1)?.type).toBe('channel.deleted')
    expect(events.filter(({ type }) => type === 'message.new')).toHaveLength(
      1 + outcomes.filter(({ status }) => status === 'fulfilled').length,
    )
    await vi.waitFor(async () => {
      await world().cleanup.run()
      const [left] = await world().db`
        select
          (select count(*) from channels where id = ${channelId})::int as channels,
          (select count(*) from members where channel_id = ${channelId})::int as members,
          (select count(*) from messages where channel_id = ${channelId})::int as messages,
          (select count(*) from reactions where message_id = ${messageId})::int as reactions`
      expect(left).toEqual({ channels: 0, members: 0, messages: 0, reactions: 0 })
    }, patient)
  }
})

test('events expire after a day, and read marks are thinned to the last of each day', async () => {
  const { db, appId } = world()
  const ros = await world().user('ros')
  const { id: channelId } = await ros.channels.create({ type: 'group', name: 'Old' })
  await ros.channels.update({ channelId, name: 'Newer' })
  await db`
    update events
    set created_at = now() - case "offset" when 1 then 25 else 23 end * interval '1 hour'
    where topic like ${`%${channelId}`}`
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq, read_at)
    select ${appId}, ${channelId}, 'ros', seq,
      date_trunc('day', now(), 'UTC') - days * interval '1 day' + seq * interval '1 hour'
    from (values (1, 92), (2, 92), (4, 92), (6, 91), (7, 91), (8, 10), (9, 10)) as mark (seq, days)`
  // The next marks of others in this channel, and of the same user in another one.
  const { id: otherId } = await ros.channels.create({ type: 'group', name: 'Other' })
  await insertMembers(world(), channelId, await insertUsers(world(), 'reader', 1))
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq, read_at)
    select ${appId}, m.channel_id, m.user_id, 5,
      date_trunc('day', now(), 'UTC') - interval '92 days' + interval '9 hours'
    from members m
    where m.channel_id = any(${[channelId, otherId]}::uuid[])
      and (m.channel_id = ${otherId} or m.user_id <> 'ros')`
  await cleanupElsewhere(world()).pass()
  const marks = await db`
    select seq
    from read_marks
    where channel_id = ${channelId}
      and user_id = 'ros'
    order by seq`
  expect(marks.map(({ seq }) => seq)).toEqual([4, 7, 8, 9])
  expect((await channelEventsOf(world(), channelId)).map(({ offset }) => offset)).toEqual([2])
})

test('expired invites and cached previews are deleted, and no others', async () => {
  const { db, appId } = world()
  const una = await world().user('una')
  const { id: workspaceId } = await una.workspaces.create({ name: 'Acme', type: 'team' })
  for (const expiresInDays of [1, 2]) await una.invites.create({ workspaceId, expiresInDays })
  await db`
    update workspace_invites
    set expires_at = expires_at - interval '1 day 1 second'
    where workspace_id = ${workspaceId}`
  await db`
    insert into link_previews (app_id, url_hash, preview, expires_at)
    values
      (${appId}, 'old', null, now() - interval '1 second'),
      (${appId}, 'young', null, now() + interval '1 minute')`
  await cleanupElsewhere(world()).pass()
  const previews = await db`
    select url_hash
    from link_previews
    where app_id = ${appId}`
  expect(previews).toEqual([{ urlHash: 'young' }])
  const invites = await db`
    select expires_at > now() as is_valid
    from workspace_invites
    where workspace_id = ${workspaceId}`
  expect(invites).toEqual([{ isValid: true }])
})

test('the log of a webhook is kept for two days, and numbers of users for 400', async () => {
  const { db, appId, operator } = world()
  const ages = [47, 49]
  await db`
    insert into webhook_deliveries (app_id, webhook_id, event_type, status, created_at)
    select ${appId}, gen_random_uuid(), 'age.' || hours, 'delivered',
      now() - hours * interval '1 hour'
    from unnest(${ages}::int[]) hours`
  // Another app, apart from the users of this test, who are active today.
  const { id: otherId } = await operator.apps.create({ name: 'Old' })
  const insertNumbers = () => db`
    insert into active_users (app_id, day, count)
    select ${otherId}, (now() at time zone 'UTC')::date - days, 1
    from generate_series(395, 405) days
    on conflict do nothing`
  const oldest = async () => {
    const [row] = await db<{ days: number }[]>`
      select max((now() at time zone 'UTC')::date - day) as days
      from active_users
      where app_id = ${otherId}`
    return row?.days
  }
  await insertNumbers()
  const { pass } = cleanupElsewhere(world())
  await pass()
  const deliveries = await db`
    select event_type
    from webhook_deliveries
    where app_id = ${appId}`
  expect(deliveries).toEqual([{ eventType: 'age.47' }])
  expect(await oldest()).toBe(400)
  // They are looked for once an hour.
  await insertNumbers()
  await pass()
  expect(await oldest()).toBe(405)
})

test('where no jobs run, the cleanup runs at once and until it is stopped', async () => {
  const isStored = await storeExpired('expired')
  const stop = cleanupElsewhere(world()).start()
  await vi.waitUntil(async () => !(await isStored()), patient)
  await stop()
})

/** Stores a link preview that has expired. Returns a function that answers whether it is there. */
async function storeExpired(urlHash: string) {
  const { db, appId } = world()
  await db`
    insert into link_previews (app_id, url_hash, preview, expires_at)
    values (${appId}, ${urlHash}, null, now() - interval '1 second')`
  return async () =>
    (
      await db`
        select
        from link_previews
        where url_hash = ${urlHash}`
    ).length > 0
}
test('while another node cleans up nothing is done, and afterwards a pass is run', async () => {
  const isStored = await withoutCleanup(world(), async () => {
    // It is stored only here: before, a pass may still have been running.
    const isStored = await storeExpired('waiting')
    await cleanupElsewhere(world()).run()
    expect(await isStored()).toBe(true)
    return isStored
  })
  await vi.waitUntil(async () => !(await isStored()), patient)
})

test('a pass that runs out of time is continued by another one, on any node', async () => {
  const { db } = world()
  const una = await world().user('una')
  const { id: workspaceId } = await una.workspaces.create({ name: 'Acme', type: 'team' })
  await una.invites.create({ workspaceId, expiresInDays: 1 })
  await db`
    update workspace_invites
    set expires_at = now()
    where workspace_id = ${workspaceId}`
  const isStored = await storeExpired('behind')
  const cleanup = cleanupElsewhere(world(), { passMs: 300 })
  await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from workspace_invites
      where workspace_id = ${workspaceId}
      for update`,
    () => cleanup.run(),
  )
  await vi.waitUntil(async () => !(await isStored()), patient)
})

test('channels that are abandoned while a server runs are purged within an hour', async () => {
  const now = performance.now.bind(performance)
  let minutes = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000)
  onTestFinished(() => void vi.restoreAllMocks())
  const { db } = world()
  const ada = await world().user('ada')
  const cleanup = cleanupElsewhere(world(), { purgeEmptyAfterDays: 7 })
  for (minutes of [0, 61]) {
    const { id: channelId } = await ada.channels.create({ type: 'group', name: 'Left' })
    await ada.members.leave({ channelId })
    await db`
      update channels
      set updated_at = now() - interval '8 days', last_activity_at = now() - interval '8 days'
      where id = ${channelId}`
    await cleanup.pass()
    const left = await db`
      select
      from channels
      where id = ${channelId}
        and deleted_at is null`
    expect(left).toEqual([])
  }
})
