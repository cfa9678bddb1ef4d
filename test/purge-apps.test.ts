import { replayKey } from '@parley/server/core/webhook-replays'
import { expect, test, vi } from 'vitest'
import { insertGivenUpJob } from './support/given-up-job.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** An app with a job that was given up, and with a replay that is under way. */
async function newApp(name: string) {
  const { operator, api, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name })
  const { webhooks } = api({ apiKey })
  const { id: webhookId } = await webhooks.create({ url: 'https://x.test', events: ['*'] })
  const key = replayKey(webhookId)
  const jobId = await insertGivenUpJob(world(), appId)
  await db`insert into service (key, value) values (${key}, '{}')`
  const left = async () => {
    const [found] = await db`
      select
        exists (select from service where key = ${key}) as replay,
        exists (select from graphile_worker._private_jobs where id = ${jobId}) as job`
    return found
  }
  return { appId, left }
}

test('purging an app removes its given-up jobs and replays, and none of another app', async () => {
  const [gone, other] = [await newApp('Gone'), await newApp('Other')]
  await world().operator.apps.delete({ appId: gone.appId })
  await vi.waitFor(async () => {
    await world().cleanup.run()
    expect(await gone.left()).toEqual({ replay: false, job: false })
    expect(await world().db`select from apps where id = ${gone.appId}`).toHaveLength(0)
  }, patient)
  expect(await other.left()).toEqual({ replay: true, job: true })
})
