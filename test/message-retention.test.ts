import { limits } from '@parley/contract'
import { createEventBus } from '@parley/server/core/event-bus'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import { createMessageRetention } from '@parley/server/jobs/retained-messages'
import { expect, onTestFinished, test, vi } from 'vitest'
import { breakRow } from './support/break-row.ts'
import { cleanupElsewhere, expectCompleteHistory } from './support/cleanup.ts'
import { upTo } from './support/events.ts'
import { whileLocked, withoutCleanup } from './support/locks.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** An app with a message of this age. */
async function appWithMessage(name: string, ageDays: number) {
  const { operator, api, user, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name })
  const ana = await user('ana', {}, api({ apiKey }))
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Hall' })
  const send = async (parentId?: string) => {
    await ana.messages.send({ channelId, text: 'old', parentId })
    await db`
      update messages
      set created_at = now() - ${ageDays} * interval '1 day'
      where app_id = ${appId}`
  }
  await send()
  const keepFor = (messageRetentionDays: number) =>
    operator.apps.update({ appId, settings: { messageRetentionDays } })
  const left = async () => (await ana.messages.list({ channelId })).messages.length
  return { appId, channelId, ana, send, keepFor, left }
}

test('an app whose old messages cannot be deleted stops no other, and is counted', async () => {
  const [broken, other] = [await appWithMessage('Broken', 8), await appWithMessage('Other', 8)]
  for (const app of [broken, other]) await app.keepFor(7)
  // No call can set this number of days: there is no such time.
  await world().db`
    update apps
    set message_retention_days = 2147483647
    where id = ${broken.appId}`
  const cleanup = cleanupElsewhere(world(), { mayFail: true })
  await cleanup.pass()
  expect([await broken.left(), await other.left()]).toEqual([1, 0])
  expect(await cleanup.failedTasks()).toEqual({ messages: 1 })
  await broken.keepFor(7)
  await cleanup.pass()
  expect(await broken.left()).toBe(0)
})

test('a channel whose old messages cannot be deleted is tried again in the next pass', async () => {
  const { channelId, keepFor, left } = await appWithMessage('Stuck', 8)
  const mend = await breakRow(world(), 'messages', `channel_id = '${channelId}'`)
  await keepFor(7)
  const cleanup = cleanupElsewhere(world(), { mayFail: true })
  await cleanup.pass()
  await cleanup.pass()
  expect(await cleanup.failedTasks()).toEqual({ messages: 2 })
  await mend()
  await cleanup.pass()
  expect(await left()).toBe(0)
})

test('a message that is deleted together with its replies counts no replies', async () => {
  const { ana, channelId, send, keepFor } = await appWithMessage('Thread', 8)
  const [root] = (await ana.messages.list({ channelId })).messages
  for (let replies = 0; replies < 2; replies++) await send(root?.id)
  await keepFor(7)
  await cleanupElsewhere(world()).pass()
  const { messages } = await ana.messages.list({ channelId, since_seq: 0 })
  expect(messages.map(({ replyCount }) => replyCount)).toEqual([0, 0, 0])
})

test('messages that an app wants to keep meanwhile stay', async () => {
  const { appId, channelId, keepFor, left } = await appWithMessage('Changed', 8)
  await keepFor(7)
  await whileLocked(world(), channelId, async (waitFor) => {
    const passed = cleanupElsewhere(world()).pass()
    await waitFor(1)
    await keepFor(9)
    return [passed] as const // it ends after the lock
  }).then(([passed]) => passed)
  expect(await left()).toBe(1)
  await world().operator.apps.delete({ appId })
})

test('messages that are to be kept for a shorter time go with the next cleanup', async () => {
  const { keepFor, left } = await appWithMessage('Shorter', 5)
  await keepFor(7)
  const cleanup = cleanupElsewhere(world())
  await cleanup.pass()
  expect(await left()).toBe(1)
  await keepFor(3)
  await cleanup.pass()
  expect(await left()).toBe(0)
})

/** A test beside which no other cleanup deletes messages: one that was woken before it may run. */
const testAlone = (title: string, run: () => Promise<void>) =>
  test(title, () => withoutCleanup(world(), run))

const OVER = 'the turn is over'

/** Deletes old messages in passes of this many steps, of this many rows each. */
function createPasses(rows: number) {
  const { publisher } = createEventBus()
  let left = 0
  const checkpoint = () => {
    if (left === 0) throw new Error(OVER)
    left -= 1
  }
  const attempt = (work: () => Promise<void>) =>
    work().then(
      () => true,
      (error: Error) => {
        if (error.message === OVER) throw error
        return false
      },
    )
  const batch = createBatchSize(rows)
  const expire = createMessageRetention()
  return (steps = Number.POSITIVE_INFINITY) => {
    left = steps
    return expire({ db: world().pool, publisher, checkpoint, attempt, batch })
  }
}

testAlone('an app with more old messages than there is time for waits for all others', async () => {
  const pass = createPasses(200)
  await pass()
  const [one, two] = [await appWithMessage('One', 8), await appWithMessage('Two', 8)]
  for (const { keepFor } of [one, two]) await keepFor(7)
  await expect(pass(1)).rejects.toThrow('over')
  // These steps are a slice, and two steps in its channel, the second of which finds nothing.
  await expect(pass(3)).rejects.toThrow('over')
  expect([await one.left(), await two.left()]).toEqual([1, 0])
})

testAlone('an app whose channel is tried again for long waits for all others', async () => {
  const pass = createPasses(1)
  await pass()
  const [one, two] = [await appWithMessage('One', 8), await appWithMessage('Two', 8)]
  for (let more = 0; more < 4; more++) await one.send()
  for (const { keepFor } of [one, two]) await keepFor(7)
  const ids = [one, two].map(({ channelId }) => `'${channelId}'`)
  const mend = await breakRow(world(), 'messages', `channel_id in (${ids.join(', ')})`)
  await pass()
  await mend()
  // Two steps of the first app, and then all that is old in the other one.
  await expect(pass(2)).rejects.toThrow(OVER)
  await expect(pass(3)).rejects.toThrow(OVER)
  expect([(await one.left()) > 0, await two.left()]).toEqual([true, 0])
})

testAlone(
  'an app with more channels than there is time for is walked through to its end',
  async () => {
    const pass = createPasses(200)
    const { appId, keepFor, left, ana } = await appWithMessage('Many', 8)
    await pass()
    await world().db`
    insert into channels (id, app_id, cid, type, name, created_by)
    select
      lpad(to_hex(n), 32, '0')::uuid, ${appId}, 'group:before-' || n, 'group', 'Before', ${ana.id}
    from generate_series(1, ${limits.abandoned.slice}::int) n`
    await keepFor(7)
    // Time for one slice, and then for the next, which has the old message.
    await expect(pass(1)).rejects.toThrow('over')
    await pass(3)
    expect(await left()).toBe(0)
  },
)

testAlone('the channels of an app are looked through once an hour', async () => {
  const now = performance.now.bind(performance)
  let minutes = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000)
  onTestFinished(() => void vi.restoreAllMocks())
  const pass = createPasses(200)
  const { send, keepFor, left } = await appWithMessage('Hourly', 8)
  await keepFor(7)
  await pass()
  expect(await left()).toBe(0)
  await send()
  minutes = 55
  await pass()
  expect(await left()).toBe(1)
  minutes = 61
  await pass()
  expect(await left()).toBe(0)
})

test('a time to keep messages that an app returns to counts at once', async () => {
  const pass = createPasses(200)
  const { send, keepFor, left } = await appWithMessage('Returning', 8)
  await keepFor(7)
  await pass()
  await keepFor(90)
  await pass()
  await send()
  await keepFor(7)
  await pass()
  expect(await left()).toBe(0)
})

test('messages that are sent while old ones are deleted get revs of their own', async () => {
  const { appId, channelId, keepFor, ana } = await appWithMessage('Busy', 8)
  for (const n of upTo(10)) await ana.messages.send({ channelId, text: `old ${n}` })
  await world().db`
    update messages
    set created_at = now() - interval '8 days'
    where app_id = ${appId}`
  await keepFor(7)
  const sends = async () => {
    for (const n of upTo(30)) await ana.messages.send({ channelId, text: `new ${n}` })
  }
  await Promise.all([createPasses(1)(), sends(), sends()])
  expect(await ana.messages.list({ channelId, limit: 100 })).toMatchObject({
    messages: { length: 60 },
  })
  await expectCompleteHistory({ ...world(), appId }, channelId)
})

test('old messages of an app that is deleted or still imported do not expire', async () => {
  const { db } = world()
  await withoutCleanup(world(), async () => {
    for (const deletedAt of ['2026-01-01T00:00:00Z', 'infinity']) {
      const { appId, keepFor } = await appWithMessage('Hidden', 8)
      await keepFor(7)
      await db`
        update apps
        set deleted_at = ${deletedAt}
        where id = ${appId}`
      await createPasses(200)()
      const kept = await db`
        select
        from messages
        where app_id = ${appId}
          and deleted_at is null`
      expect(kept, deletedAt).toHaveLength(1)
    }
  })
})
