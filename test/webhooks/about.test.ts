import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('a delivery names its header, channel and message, and says if another is first', async () => {
  const { receiver, world } = current()
  const { appId, backend, webhookId, channelId, send, receive, deliveries } = await newScene()
  receiver.answerWith(answering(500))
  const first = await send('first')
  const second = await send('second')
  startWorker({ timings: { backOffMs: 600_000 } })
  const [refused] = await receive(1)
  await until(async () => (await deliveries()).some(({ attempts }) => attempts === 1))
  const ofOperator = await world.operator.inspect.deliveries({ appId, webhookId })
  const listed = await deliveries()
  expect(ofOperator.deliveries).toEqual(listed)
  const about = (id: string) => listed.find(({ messageId }) => messageId === id)
  expect(about(second.id)).toMatchObject({ channelId, attempts: 0, waitsForEarlier: true })
  expect(listed.find(({ attempts }) => attempts === 1)).toMatchObject({
    headerId: refused?.headers['webhook-id'],
    channelId,
    waitsForEarlier: false,
  })
  expect(about(first.id)).toMatchObject({ channelId, eventType: 'message.new' })
  expect(await backend.webhooks.test({ webhookId })).toMatchObject({
    channelId: null,
    messageId: null,
    waitsForEarlier: false,
  })
})
