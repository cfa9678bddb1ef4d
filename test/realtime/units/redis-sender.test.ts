import { createRedisSender } from '@parley/server/realtime/broker/redis-sender'
import { expect, test, vi } from 'vitest'
import { upTo } from '../../support/events.ts'
import { eventOf } from './fixture.ts'

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
  // A note that is not for everyone has the last number, and each loss takes one.
  expect(numbers).toEqual(['1', '=2', '3'])
  expect(onLost).toHaveBeenCalledExactlyOnceWith(1, expect.anything())
})

test('a hint through Redis leaves its event to the log if it is long, or much waits', async () => {
  const payloads: string[] = []
  const sender = createRedisSender({
    nodeId: 'node',
    everyone: 'everyone',
    channelOf: (topic) => topic,
    publish: async (_, payload) => void payloads.push(payload),
    onLost: () => expect.unreachable(),
  })
  const send = (topic: string, text: string) =>
    sender.send({ kind: 'hint', topic, offset: 1, event: eventOf(text) })
  send('short', 'text')
  send('long', 'x'.repeat(64 * 1024))
  sender.send({ kind: 'hint', topic: 'x'.repeat(1024 * 1024), offset: 1 })
  send('late', 'text')
  await sender.flushed()
  send('later', 'text')
  await sender.flushed()
  const envelopeOf = (topic: string) => {
    const payload = payloads.find((each) => each.includes(`"topic":"${topic}"`))
    return JSON.parse(payload?.split('\n')[2] ?? '').event?.envelope
  }
  const envelopes = ['short', 'long', 'late', 'later'].map(envelopeOf)
  expect(envelopes).toEqual(['text', undefined, undefined, 'text'])
})

test('only nodes that follow a topic are notified that its events were rewritten', async () => {
  const channels: string[] = []
  const sender = createRedisSender({
    nodeId: 'node',
    everyone: 'everyone',
    channelOf: (topic) => `topic:${topic}`,
    publish: async (channel) => void channels.push(channel),
    onLost: () => expect.unreachable(),
  })
  sender.send({ kind: 'rewritten', topic: 'talk' })
  await sender.flushed()
  expect(channels).toEqual(['topic:talk'])
})

test('notes that wait for Redis have a limit, and a lost one leaves its number out', async () => {
  const payloads: string[] = []
  const answers: (() => void)[] = []
  const onLost = vi.fn()
  const sender = createRedisSender({
    nodeId: 'node',
    everyone: 'everyone',
    channelOf: (topic) => topic,
    publish: (_, payload) => {
      payloads.push(payload)
      return new Promise<void>((resolve) => void answers.push(resolve))
    },
    onLost,
  })
  const topic = 'x'.repeat(1024 * 1024)
  for (const offset of upTo(9)) sender.send({ kind: 'hint', topic, offset })
  expect(onLost).toHaveBeenCalledTimes(2)
  void sender.beat()
  expect(payloads).toEqual(['node\n3\n'])
})
