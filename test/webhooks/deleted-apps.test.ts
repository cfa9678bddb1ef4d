import { expect, test } from 'vitest'
import { withoutCleanup } from '../support/locks.ts'
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
