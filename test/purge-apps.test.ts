import { replayKey } from '@parley/server/core/webhook-replays'
import { createAppPurge } from '@parley/server/jobs/purge-apps'
import { expect, test, vi } from 'vitest'
import { insertGivenUpJob } from './support/given-up-job.ts'
import { insertUsers } from './support/inserted.ts'
import { withoutCleanup } from './support/locks.ts'
import { turnOf } from './support/purge-turns.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** An app with a job that was given up, a replay that is under way, and an act of a user. */
async function newApp(name: string) {
  const { operator, api, db } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name })
  const { webhooks } = api({ apiKey })
  const { id: webhookId } = await webhooks.create({ url: 'https://x.test', events: ['*'] })
  const key = replayKey(webhookId)
  const jobId = await insertGivenUpJob(world(), appId)
  await db`insert into service (key, value) values (${key}, '{}')`
  await db`
    insert into audit (app_id, actor, user_id, operation, target)
    values (${appId}, 'user', 'ana', 'channels.delete', '{}')`
  const left = async () => {
    const [found] = await db`
      select
        exists (select from service where key = ${key}) as replay,
        exists (select from audit where app_id = ${appId} and actor = 'user') as act,
        exists (select from graphile_worker._private_jobs where id = ${jobId}) as job`
    return found
  }
  return { appId, left }
}

test('purging an app removes its given-up jobs, replays and acts, and none of others', async () => {
  const [gone, other] = [await newApp('Gone'), await newApp('Other')]
  await world().operator.apps.delete({ appId: gone.appId })
  await vi.waitFor(async () => {
    await world().cleanup.run()
    expect(await gone.left()).toEqual({ replay: false, act: false, job: false })
    expect(
      await world().db`
        select
        from apps
        where id = ${gone.appId}`,
    ).toHaveLength(0)
  }, patient)
  expect(await other.left()).toEqual({ replay: true, act: true, job: true })
})

test('an app that takes many turns to purge delays another one by one turn', async () => {
  const { operator, db } = world()
  const [{ appId: vast }, { appId: small }] = [await newApp('Vast'), await newApp('Small')]
  await insertUsers({ db, appId: vast }, 'user', 100)
  const left = async () => {
    const apps = await db<{ id: string }[]>`
      select id
      from apps
      where id in (${vast}, ${small})`
    const users = await db`select from users where app_id = ${vast}`
    return { apps: apps.map(({ id }) => id), users: users.length }
  }
  const purge = createAppPurge()
  const runTurn = (steps: number) => purge({ ...turnOf(world(), steps), staging: undefined })
  await withoutCleanup(world(), async () => {
    for (const appId of [vast, small]) await operator.apps.delete({ appId })
    await expect(runTurn(30)).rejects.toThrow('the turn is over')
    const { users } = await left()
    await expect(runTurn(30)).rejects.toThrow('the turn is over')
    // The rest of that turn was for the first one again.
    expect(await left()).toEqual({ apps: [vast], users: expect.toSatisfy((now) => now < users) })
    await runTurn(1_000)
    expect(await left()).toEqual({ apps: [], users: 0 })
  })
})
