import { createEventBus } from '@parley/server/core/event-bus'
import { createBatchSize } from '@parley/server/jobs/batch-size'
import { createMessageRetention } from '@parley/server/jobs/retained-messages'
import { expect, test } from 'vitest'
import { cleanupElsewhere } from './support/cleanup.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** An app with a message of this age. */
async function appWithMessage(name: string, ageDays: number) {
  const { operator, api, user, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name })
  const ana = await user('ana', {}, api({ apiKey }))
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Hall' })
  await ana.messages.send({ channelId, text: 'old' })
  await db`
    update messages
    set created_at = now() - ${ageDays} * interval '1 day'
    where app_id = ${appId}`
  const keepFor = (messageRetentionDays: number) =>
    operator.apps.update({ appId, settings: { messageRetentionDays } })
  const left = async () => (await ana.messages.list({ channelId })).messages.length
  return { appId, keepFor, left }
}

test('an app whose old messages cannot be deleted stops no other, and is counted', async () => {
  const [broken, other] = [await appWithMessage('Broken', 8), await appWithMessage('Other', 8)]
  for (const app of [broken, other]) await app.keepFor(7)
  // A number of days that no call can set: there is no such time.
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

test('an app with more old messages than there is time for waits for all others', async () => {
  const { publisher } = createEventBus()
  let steps = Number.POSITIVE_INFINITY
  const checkpoint = () => {
    if (steps === 0) throw new Error('the turn is over')
    steps -= 1
  }
  const attempt = async (work: () => Promise<void>) => work().then(() => true)
  const batch = createBatchSize(200)
  const expire = createMessageRetention()
  const pass = () => expire({ db: world().pool, publisher, checkpoint, attempt, batch })
  await pass()
  const [one, two] = [await appWithMessage('One', 8), await appWithMessage('Two', 8)]
  for (const { keepFor } of [one, two]) await keepFor(7)
  steps = 1
  await expect(pass()).rejects.toThrow('over')
  // A slice, and two steps in its channel, of which the second finds nothing.
  steps = 3
  await expect(pass()).rejects.toThrow('over')
  expect([await one.left(), await two.left()]).toEqual([1, 0])
})
