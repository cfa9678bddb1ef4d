import { topics } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { expect, onTestFinished, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { slowness } from '../support/slowness.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

const MESSAGES = 6_000
/** How long others may wait for a step. */
const MOST_MS = 100

/** A channel in which `gone` has written every second message, and reacted to every other one. */
async function populate() {
  const { db, appId } = world()
  const [host] = await world().users('host', 'gone')
  const { id } = await host.channels.create({ type: 'group', name: 'Busy', memberIds: ['gone'] })
  const text = 'What a user says in a channel that is busy. '.repeat(6)
  await db`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${id},
      case when n % 2 = 0 then 'gone' else 'host' end, n, n + 2, ${text}, '{}', '[]'
    from generate_series(1, ${MESSAGES}::int) n`
  await db`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, msg.id, '👍', 'gone'
    from messages msg
    where msg.channel_id = ${id}
      and msg.user_id = 'host'`
  await db`
    insert into events (topic, "offset", type, message_id, envelope)
    select ${topics.channel(appId, id)}, msg.rev, 'message.new', msg.id, jsonb_build_object(
      'type', 'message.new',
      'payload', jsonb_build_object('channelId', msg.channel_id, 'message', jsonb_build_object(
        'id', msg.id, 'channelId', msg.channel_id, 'userId', msg.user_id, 'text', msg.text,
        'seq', msg.seq, 'rev', msg.rev,
        'user', jsonb_build_object('id', msg.user_id, 'name', msg.user_id, 'image', null)
      ))
    )::text
    from messages msg
    where msg.channel_id = ${id}`
  await db`
    update channels
    set last_seq = ${MESSAGES}, rev = ${MESSAGES + 2}
    where id = ${id}`
  await db`analyze`
  return id
}

/** Locks the channel again and again; answers how long each took, as PostgreSQL saw it. */
function lockUntil(channelId: string, isOver: () => boolean) {
  const rival = connectOnce(world().databaseUrl)
  onTestFinished(() => rival.end())
  const lock = async () => {
    const [row] = await rival<{ milliseconds: number }[]>`
      with locked as materialized (
        select c.id
        from channels c
        where c.id = ${channelId}
        for no key update
      )
      select extract(epoch from clock_timestamp() - statement_timestamp())::float8 * 1000
        as milliseconds
      from locked`
    return row?.milliseconds ?? Number.POSITIVE_INFINITY
  }
  const lockAll = async () => {
    const waits: number[] = []
    while (!isOver()) waits.push(await lock())
    return waits
  }
  return lockAll()
}

const ends = {
  'the erasure of a user': async () => {
    await world().backend.users.delete({ userId: 'gone' })
    await erased(world())
  },
  'the retention of messages': async (channelId: string) => {
    const { db, operator, appId, cleanup } = world()
    await db`
      update messages
      set created_at = now() - interval '3 days'
      where channel_id = ${channelId}`
    await operator.apps.update({ appId, settings: { messageRetentionDays: 2 } })
    const left = () => db`
      select
      from messages
      where channel_id = ${channelId}
        and deleted_at is null
      limit 1`
    while ((await left()).length > 0) await cleanup.run()
  },
}

test.each(Object.entries(ends))(
  'a write to a channel waits a tenth of a second at most for %s in it',
  async (_, end) => {
    const channelId = await populate()
    let isOver = false
    const waits = lockUntil(channelId, () => isOver)
    await end(channelId).finally(() => (isOver = true))
    const sorted = (await waits).toSorted((a, b) => b - a)
    // It came between many steps, and waited for some.
    expect(sorted.length).toBeGreaterThan(100)
    expect(sorted[0]).toBeGreaterThan(1)
    // One in a hundred may be late because the machine stood still.
    expect(sorted[Math.ceil(sorted.length / 100)]).toBeLessThan(MOST_MS * slowness)
  },
)
