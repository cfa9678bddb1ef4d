import { limits } from '@parley/contract'
import { type SubscribeRequest, selectGrants } from '@parley/server/realtime/grants'
import { expect, test } from 'vitest'
import { insertChannels, insertUsers } from './support/inserted.ts'
import { quietTimings } from './support/quiet.ts'
import { forbidden, refusals } from './support/refusal.ts'
import { rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})

test('a refused reader makes PostgreSQL read nothing of the channel', async () => {
  const [ana, eve] = await world().users('ana', 'eve')
  const memberIds = await insertUsers(world(), 'member-', 30)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  let messageId = ''
  for (let n = 1; n <= 20; n++) {
    messageId = (await ana.messages.send({ channelId, text: 'pinned' })).id
    await ana.pins.pin({ channelId, messageId })
  }
  const ref = { channelId, messageId }
  const calls = [
    () => eve.messages.list({ channelId }),
    () => eve.messages.list({ channelId, before: messageId }),
    () => eve.messages.replies(ref),
    () => eve.messages.get(ref),
    () => eve.pins.list({ channelId }),
    () => eve.channels.get({ channelId }),
    () => eve.members.list({ channelId }),
    () => eve.receipts.get(ref),
    () => eve.receipts.query({ channelId, messageIds: [messageId] }),
    () => eve.receipts.status({ channelId }),
  ]
  const rows = await rowsReadBy(world(), 'generic', async () => {
    const outcomes = await refusals(calls.map((call) => call()))
    expect(outcomes).toEqual(calls.map(() => forbidden))
  })
  // It may read the channel, for the check and the page, and the message that a page begins at.
  expect(rows).toBeLessThanOrEqual(3 * calls.length)
})

/** So many channels of the app that PostgreSQL finds one by its key, and not by looking at all. */
async function insertOthers() {
  const { appId, db } = world()
  const ids = await insertChannels(world(), 'other-', 2_000)
  await db`
    insert into members (app_id, channel_id, user_id, role)
    select ${appId}, given, 'ana', 'member'
    from unnest(${ids}::uuid[]) given`
  await db`vacuum analyze channels, members`
}

/** A topic of events in storage, whose last offset may be ahead of them. */
async function createTopic({ count, bytes }: { count: number; bytes: number }, lastOffset = count) {
  const [ana] = await world().users('ana')
  const { appId, db } = world()
  const [other] = await db`select from channels where name = 'Other' limit 1`
  if (!other) await insertOthers()
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: [] })
  const topic = `chat:${appId}:${id}`
  await db`delete from events where topic = ${topic}`
  await db`
    insert into events (topic, "offset", type, envelope)
    select ${topic}, n, 'typing.stop', rpad('{"type":"typing.stop"}', ${bytes})
    from generate_series(1, ${count}) n`
  await db`update channels set rev = ${lastOffset} where id = ${id}`
  return { appId, userId: 'ana', topic, since: 0 }
}

/** How many rows these frames of subscribes read, and how many events each is answered with. */
async function costOfFrames(frames: SubscribeRequest[][]) {
  const outcomes: unknown[] = []
  const rows = await rowsReadBy(world(), 'generic', async () => {
    const grants = await world().pool.use((db) => selectGrants(db, frames))
    const lengths = grants.map((grant) => (grant === 'postponed' ? grant : grant[0]?.missed.length))
    outcomes.splice(0, outcomes.length, ...lengths)
  })
  return { rows, outcomes }
}

/** The most rows that finding the topic of a request and deciding about the right may read. */
const ROWS_PER_REQUEST = 8

test('a client that missed too much makes PostgreSQL read no event', async () => {
  const request = await createTopic({ count: 300, bytes: 100 }, limits.realtime.recoverable + 1)
  const upToDate = { ...request, since: limits.realtime.recoverable + 1 }
  const { rows, outcomes } = await costOfFrames([[upToDate], [request]])
  expect(outcomes).toEqual([0, 0])
  expect(rows).toBeLessThanOrEqual(2 * ROWS_PER_REQUEST)
})

test('missed events of postponed frames are not read, nor measured for too many', async () => {
  const request = await createTopic({ count: 100, bytes: 100 }, limits.realtime.recoverable)
  const { rows, outcomes } = await costOfFrames(Array.from({ length: 120 }, () => [request]))
  expect(outcomes).toEqual([...Array(20).fill(100), ...Array(100).fill('postponed')])
  expect(rows).toBeLessThanOrEqual((100 + 20) * 100 + 120 * ROWS_PER_REQUEST)
})

test('missed events are measured as far as an answer may be, and no further', async () => {
  const request = await createTopic({ count: 200, bytes: 100_000 })
  const { rows, outcomes } = await costOfFrames([[request]])
  expect(outcomes).toEqual([0])
  expect(rows).toBeLessThanOrEqual(20 + ROWS_PER_REQUEST)
})
