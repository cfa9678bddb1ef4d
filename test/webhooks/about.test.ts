import { expect, test } from 'vitest'
import { answering } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('a delivery names its header, channel and message, and says if another is first', async () => {
  const { receiver, world } = current()
  const scene = await newScene()
  const { appId, backend, webhookId, channelId, send, receive, deliveries } = scene
  receiver.answerWith(answering(500))
  const first = await send('first')
  const second = await send('second')
  startWorker({ timings: { backOffMs: 600_000 } })
  const [refused] = await receive(1)
  await until(async () => (await deliveries()).some(({ attempts }) => attempts === 1))
  const otherId = await scene.newChannel()
  // An event more than the first channel had: numbers of different channels mean nothing.
  await scene.ana.channels.update({ channelId: otherId, name: 'Elsewhere' })
  const elsewhere = await send('elsewhere', otherId)
  await until(
    async () => (await deliveries()).filter(({ attempts }) => attempts === 1).length === 2,
  )
  const ofOperator = await world.operator.inspect.deliveries({ appId, webhookId })
  const listed = await deliveries()
  expect(ofOperator.deliveries).toEqual(listed)
  const about = (id: string) => listed.find(({ messageId }) => messageId === id)
  expect(about(second.id)).toMatchObject({ channelId, attempts: 0, waitsForEarlier: true })
  expect(about(elsewhere.id)).toMatchObject({ attempts: 1, waitsForEarlier: false })
  expect(about(first.id)).toMatchObject({
    ...{ headerId: refused?.headers['webhook-id'], channelId, eventType: 'message.new' },
    ...{ attempts: 1, waitsForEarlier: false },
  })
  expect(await backend.webhooks.test({ webhookId })).toMatchObject({
    channelId: null,
    messageId: null,
    waitsForEarlier: false,
  })
})

test('the delivery of every event of a message names the message', async () => {
  const { ana, channelId, send, receive, deliveries } = await newScene('message.*', 'reaction.*')
  const { id: messageId } = await send('first')
  const ref = { channelId, messageId }
  await ana.reactions.add({ ...ref, emoji: '👍' })
  await ana.reactions.remove({ ...ref, emoji: '👍' })
  await ana.pins.pin(ref)
  await ana.messages.edit({ ...ref, text: 'changed' })
  await ana.messages.delete(ref)
  startWorker()
  await receive(6)
  expect((await deliveries()).map(({ messageId }) => messageId)).toEqual(Array(6).fill(messageId))
})

test('webhooks are listed in the order in which they were created', async () => {
  const { world } = current()
  const { appId, backend, webhookId: firstId } = await newScene()
  const url = 'https://shop.example.com/parley'
  const ids = [firstId]
  for (const event of ['message.new', 'message.deleted'] as const)
    ids.push((await backend.webhooks.create({ url, events: [event] })).id)
  await backend.webhooks.update({ webhookId: firstId, description: 'changed last' })
  const listed = [await backend.webhooks.list(), await world.operator.inspect.webhooks({ appId })]
  for (const { webhooks } of listed) expect(webhooks.map(({ id }) => id)).toEqual(ids)
})
