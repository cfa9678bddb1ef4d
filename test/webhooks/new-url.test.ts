import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked } from '../support/locks.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const url = 'https://8.8.8.8/hook'

test('a new URL ends the failing state of a webhook, and makes its deliveries due', async () => {
  const { backend, db, appId } = world()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  await backend.webhooks.test({ webhookId })
  await backend.webhooks.test({ webhookId })
  await db`
    update webhooks
    set failing_since = now() - interval '1 day'
    where app_id = ${appId}`
  // One is the first of its line, the other is tried again beside it.
  await db`
    update webhook_deliveries wd
    set
      next_attempt_at = now() + interval '1 hour',
      status = case when wd.id = (select max(id) from webhook_deliveries) then 'retrying'
        else 'pending' end
    where app_id = ${appId}`
  const due = async () => {
    const { deliveries } = await backend.webhooks.deliveries({ webhookId })
    const [now] = await db<{ at: string }[]>`select clock_timestamp() as at`
    const at = Date.parse(now?.at ?? '')
    return deliveries.map(({ nextAttemptAt }) => Date.parse(nextAttemptAt ?? '') <= at)
  }
  expect(await due()).toEqual([false, false])
  const same = await backend.webhooks.update({ webhookId, url, description: 'Same' })
  expect(same.failingSince).not.toBeNull()
  expect(await due()).toEqual([false, false])
  const events = ['message.new' as const, 'message.deleted' as const]
  const other = await backend.webhooks.update({
    webhookId,
    url: `${url}/new`,
    events: [...events, ...events],
  })
  expect(other).toMatchObject({ failingSince: null, events })
  expect(await due()).toEqual([true, true])
})

test('enabling a webhook that is being disabled makes its deliveries due', async () => {
  const { backend, db, appId } = world()
  const { id: webhookId } = await backend.webhooks.create({ url, events: ['message.new'] })
  const { id } = await backend.webhooks.test({ webhookId })
  await db`
    update webhook_deliveries
    set next_attempt_at = now() + interval '1 hour', status = 'retrying'
    where app_id = ${appId}
      and id = ${id}`
  const { enabling } = await whileRowLocked(
    world(),
    (sql) => sql`
      update webhooks
      set enabled = false
      where app_id = ${appId}
        and id = ${webhookId}`,
    async () => {
      const enabling = backend.webhooks.update({ webhookId, enabled: true })
      await waitingForRows(world(), 1)
      return { enabling }
    },
  )
  expect(await enabling).toMatchObject({ enabled: true })
  const due = await db`
    select
    from webhook_deliveries
    where id = ${id}
      and next_attempt_at <= clock_timestamp()`
  expect(due).toHaveLength(1)
})
