import { expect, onTestFinished, test } from 'vitest'
import { hasRedis, redisAt, startRedis } from '../support/redis.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createGroup, useListeners } from './listeners.ts'

// No typing ends by itself.
const timings = { typingMs: 3_600_000 }
const world = useWorld({ timings })
const { listenAs, channelTopic, newUsers } = useListeners(world)

test.skipIf(!hasRedis)(
  'with Redis, typing can be stopped on a node that did not receive its start',
  async () => {
    const redis = await startRedis()
    const createNode = async () =>
      createWorld({ databaseUrl: world().databaseUrl, redis: await redisAt(redis.url), timings })
    const [first, second] = [await createNode(), await createNode()]
    onTestFinished(async () => {
      for (const node of [first, second]) await node.stop()
      await redis.kill()
    })
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const listener = await listenAs(ben, channelTopic(channelId), first)
    await first.api({ token: ana.token }).typing.set({ channelId })
    await listener.untilType('typing.start')
    await listenAs(ben, channelTopic(channelId), second)
    await second.api({ token: ana.token }).typing.set({ channelId, typing: false })
    await listener.untilType('typing.stop')
    expect(listener.received.map(({ envelope }) => envelope.type)).toEqual([
      'typing.start',
      'typing.stop',
    ])
  },
)
