import { expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { useWebhooks } from './fixture.ts'

const { current, startWorker, newScene } = useWebhooks()

test('an event that cannot be read fails alone, and delays no other channel', async () => {
  const { send, texts, receive, newChannel, deliveries } = await newScene()
  const { id } = await send('unreadable')
  await current().world.db`
    update events
    set envelope = ''
    where message_id = ${id}`
  await send('in another channel', await newChannel())
  startWorker()
  await receive(1)
  expect(texts()).toEqual(['in another channel'])
  await until(async () => (await deliveries()).some(({ error }) => error === 'internal error'))
})
