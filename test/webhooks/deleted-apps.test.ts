import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked, withoutCleanup } from '../support/locks.ts'
import { refusal, unauthorized } from '../support/refusal.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('the webhooks of a deleted app are sent nothing more, also before it is purged', async () => {
  const { world } = current()
  const [gone, other] = [await newScene(), await newScene()]
  await gone.backend.webhooks.test({ webhookId: gone.webhookId })
  await gone.send('waits')
  await withoutCleanup(world, async () => {
    await world.operator.apps.delete({ appId: gone.appId })
    startWorker()
    for (const [index, text] of ['one', 'two'].entries()) {
      await other.send(text)
      await other.receive(index + 1)
    }
  })
  expect(gone.received()).toEqual([])
})

test('a webhook of an app that is deleted meanwhile is not enabled again', async () => {
  const { world } = current()
  const { appId, webhookId, backend } = await newScene()
  await withoutCleanup(world, async () => {
    const { deleted, enabled } = await whileRowLocked(
      world,
      (sql) => sql`select from webhooks where id = ${webhookId} for update`,
      async () => {
        const deleted = world.operator.apps.delete({ appId })
        await waitingForRows(world, 1)
        const enabled = refusal(backend.webhooks.update({ webhookId, enabled: true }))
        await waitingForRows(world, 2)
        return { deleted, enabled }
      },
    )
    await deleted
    expect(await enabled).toMatchObject({ code: 'NOT_FOUND' })
    expect(
      await world.db`
        select enabled
        from webhooks
        where id = ${webhookId}`,
    ).toEqual([{ enabled: false }])
  })
})

test('an app that is deleted meanwhile gets no new webhook', async () => {
  const { world } = current()
  const { appId, webhookId, backend } = await newScene()
  await withoutCleanup(world, async () => {
    const { deleted, created } = await whileRowLocked(
      world,
      (sql) => sql`select from webhooks where id = ${webhookId} for update`,
      async () => {
        const deleted = world.operator.apps.delete({ appId })
        await waitingForRows(world, 1)
        const url = 'https://example.com/late'
        const created = refusal(backend.webhooks.create({ url, events: ['message.new'] }))
        await waitingForRows(world, 2)
        return { deleted, created }
      },
    )
    await deleted
    expect(await created).toEqual(unauthorized)
    expect(
      await world.db`
        select id
        from webhooks
        where app_id = ${appId}`,
    ).toEqual([{ id: webhookId }])
  })
})
