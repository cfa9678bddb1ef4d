import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { openProxy } from '../support/proxy.ts'
import { hasRedis, redisAt, startRedis } from '../support/redis.ts'
import { RawStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld, type World } from '../support/world.ts'
import { createGroup, useListeners } from './listeners.ts'

const timings = { brokerBeatMs: 100, brokerSilenceMs: 2_000, reconcileMs: 500 }

describe.skipIf(!hasRedis)('clients without WebSocket whose commands reach another node', () => {
  const world = useWorld({ timings })
  const { channelTopic, newUsers } = useListeners(world)
  let redis: Awaited<ReturnType<typeof startRedis>>
  let lines: Awaited<ReturnType<typeof openProxy>>[]
  let nodes: World[]
  beforeAll(async () => {
    redis = await startRedis()
    lines = await Promise.all([1, 2].map(() => openProxy(redis.url)))
    nodes = await Promise.all(
      lines.map(async ({ url }) =>
        createWorld({
          databaseUrl: world().databaseUrl,
          redis: await redisAt(url.replace('http', 'redis')),
          timings,
        }),
      ),
    )
  })
  afterAll(async () => {
    for (const node of nodes) await node.stop()
    for (const line of lines) line.close()
    await redis.kill()
  })
  const redisIs = (state: string, node: World) =>
    until(async () => (await node.api().service.health()).checks.redis === state)

  test.each([
    ['Redis is away', [0, 1]],
    ['the node of their stream has no Redis', [0]],
    ['the node of their commands has no Redis', [1]],
  ])('are served although %s', async (_, without) => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    for (const node of nodes) await redisIs('ok', node)
    for (const index of without) {
      lines[index]?.redirect('http://127.0.0.1:1')
      lines[index]?.cut()
    }
    onTestFinished(() => {
      for (const line of lines) line.redirect(redis.url)
    })
    for (const index of without) await redisIs('unreachable', nodes[index] as World)
    const [ofStream, ofCommands] = nodes as [World, World]
    const command = JSON.stringify({ id: 2, subscribe: { channel: channelTopic(channelId) } })
    // A busy machine may answer too late: then the client connects again.
    const stream = await until(async () => {
      const opened = await RawStream.connect(ofStream, ben, { emulationNode: ofCommands })
      onTestFinished(() => opened.terminate())
      return (await opened.post(command)) === 204 && opened
    })
    await stream.reply(2)
    await ofCommands.api({ token: ana.token }).messages.send({ channelId, text: 'hello' })
    await until(() => stream.frames.some((frame) => frame.includes('"message.new"')))
  })
})
