import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { textOf, useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test.each([
  ['is gone', 410],
  ['fails', 500],
])('an old URL that %s while the webhook gets a new one is no fault of it', async (_, status) => {
  const { receiver } = current()
  const { backend, webhookId, path, send, webhook, deliveries } = await newScene()
  const newPath = `${path}/new`
  receiver.answerWith(async (response, received) => {
    if (received.path === newPath) return answering(204)(response, received)
    await backend.webhooks.update({ webhookId, url: `${receiver.url}${newPath}` })
    return answering(status)(response, received)
  })
  await send('one')
  await send('two')
  startWorker()
  await until(async () => {
    const sent = (await deliveries()).filter((each) => each.status === 'delivered')
    return sent.length === 2
  })
  expect(receiver.at(newPath).map(textOf)).toEqual(['one', 'two'])
  expect(await webhook()).toMatchObject({ enabled: true, failingSince: null })
  expect((await deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1])
})
