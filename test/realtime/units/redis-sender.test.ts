import { createRedisSender } from '@parley/server/realtime/redis-sender'
import { expect, test, vi } from 'vitest'

test('the number after notes that Redis did not take shows that some are missing', async () => {
  const payloads: string[] = []
  const onLost = vi.fn()
  const sender = createRedisSender({
    nodeId: 'node',
    everyone: 'everyone',
    channelOf: (topic) => topic,
    publish: async (channel, payload) => {
      if (channel === 'refused') throw new Error('refused')
      payloads.push(payload)
    },
    onLost,
  })
  await sender.beat()
  for (const topic of ['refused', 'taken']) {
    sender.send({ kind: 'hint', topic, offset: 1 })
    await sender.flushed()
  }
  await sender.beat()
  const numbers = payloads.map((payload) => payload.split('\n')[1])
  // What is not for everyone has the last number, and each loss takes one.
  expect(numbers).toEqual(['1', '=2', '3'])
  expect(onLost).toHaveBeenCalledExactlyOnceWith(1, expect.anything())
})
