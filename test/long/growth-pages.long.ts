import { connectOnce } from '@parley/server/db/client'
import { expect, test } from 'vitest'
import { pagesReadBy, planAnew, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: { reconcileMs: 1_000_000, beatMs: 1_000_000, lookMs: 1_000_000, pingMs: 1_000_000 },
})

/** Public channels of eve, each with an unread message of fay. */
const insertChannels = (size: number) => world().db`
  with added as (
    insert into channels (id, app_id, cid, type, created_by, last_seq, rev)
    select gen_random_uuid(), ${world().appId}, 'eve' || n, 'public', 'eve', 1, 1
    from generate_series(1, ${size}::int) n
    returning app_id, id
  ),
  joined as (
    insert into members (app_id, channel_id, user_id, role)
    select app_id, id, 'eve', 'owner'
    from added
  )
  insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
  select gen_random_uuid(), app_id, id, 'fay', 1, 1, 'hello', '{}', '[]'
  from added`

test('a total of unread messages reads few pages for each channel', async () => {
  const [eve] = await world().users('eve', 'fay')
  const size = 1_000
  await insertChannels(size)
  await world().db`analyze`
  await planAnew(world())
  expect(await eve.reads.unreadCount()).toEqual({ count: size })
  const pages = await pagesReadBy(world(), () => eve.reads.unreadCount())
  // Those of the channel, of own messages and of counts of deleted ones.
  expect(pages).toBeLessThanOrEqual(9 * size)
})

test('expiry looks at each event once, also while a transaction still sees them', async () => {
  const { db, appId, databaseUrl, cleanup } = world()
  const size = 6_000
  const fillAndExpire = async () => {
    await db`
      insert into events (topic, "offset", type, envelope, created_at)
      select
        ${`chat:${appId}:old`}, n, 'message.new', '{}',
        now() - interval '25 hours' + n / 3 * interval '1 ms'
      from generate_series(1, ${size}::int) n`
    await cleanup.run()
  }
  const reader = connectOnce(databaseUrl)
  try {
    await reader`begin isolation level repeatable read`
    await reader`select from apps`
    const rows = await rowsReadBy(world(), 'generic', fillAndExpire)
    // By time and by key, those of this pass and of the ones before, which are still there.
    // It is more than eleven times as many if each step begins at the first event.
    expect(rows).toBeLessThan(8 * size)
    // Only now: a slow machine would count what this reads.
    const left = await db`
      select
      from events
      where topic = ${`chat:${appId}:old`}`
    expect(left).toHaveLength(0)
  } finally {
    await reader.end()
  }
})
