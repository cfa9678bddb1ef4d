import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { textOf, useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test.each([
  ['is gone', 410, false],
  ['is gone', 410, true],
  ['fails', 500, false],
])('an old URL that %s while the webhook gets a new one is no fault of it', async (...given) => {
  const [, status, wasFailing] = given
  const { receiver, world } = current()
  const { backend, webhookId, path, send, webhook, deliveries } = await newScene()
  const newPath = `${path}/new`
  receiver.answerWith(async (response, received) => {
    if (received.path === newPath) return answering(204)(response, received)
    await backend.webhooks.update({ webhookId, url: `${receiver.url}${newPath}` })
    return answering(status)(response, received)
  })
  await send('one')
  await send('two')
  if (wasFailing)
    await world.db`
      update webhooks
      set failing_since = now() - interval '1 day'
      where id = ${webhookId}`
  startWorker()
  await until(async () => {
    const sent = (await deliveries()).filter((each) => each.status === 'delivered')
    return sent.length === 2
  })
  expect(receiver.at(newPath).map(textOf)).toEqual(['one', 'two'])
  expect(await webhook()).toMatchObject({ enabled: true, failingSince: null })
  expect((await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1])
})

test('a webhook that gets a new URL as its old one is found gone stays enabled', async () => {
  const { receiver, world } = current()
  const { backend, webhookId, path, send, webhook, deliveries } = await newScene()
  const newPath = `${path}/new`
  receiver.answerWith((response, received) =>
    answering(received.path === newPath ? 204 : 410)(response, received),
  )
  await send('one')
  const move = async () => {
    await backend.webhooks.update({ webhookId, url: `${receiver.url}${newPath}` })
    await send('two')
  }
  let moved: Promise<void> | undefined
  // Between the outcome of the delivery and the verdict on the webhook.
  const use: typeof world.pool.use = async (...given) => {
    const result = await world.pool.use(...given)
    const hasFailed = (await deliveries()).some(({ status }) => status === 'failed')
    if (!hasFailed) return result
    moved ??= move()
    await moved
    return result
  }
  startWorker({ db: { ...world.pool, use } })
  await until(async () => receiver.at(newPath).length > 0 || !(await webhook())?.enabled)
  expect(await webhook()).toMatchObject({ enabled: true, failingSince: null })
  expect(receiver.at(newPath).map(textOf)).toEqual(['two'])
})
