import { createRateLimits } from '@parley/server/http/rate-limits'
import { createSharedWindows } from '@parley/server/http/shared-windows'
import { createRedisBroker } from '@parley/server/realtime/broker/redis-broker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../support/events.ts'
import { hasRedis, redisAt, startRedis } from '../support/redis.ts'
import { sample } from '../support/scrape.ts'
import { RawStream } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'
import { counts, createGroup, useListeners } from './listeners.ts'

const timings = { brokerBeatMs: 100, brokerSilenceMs: 2_000, reconcileMs: 500 }

describe.skipIf(!hasRedis)('two nodes with Redis', () => {
  const world = useWorld({ timings })
  const { connect, listenAs, channelTopic, userTopic, newUsers } = useListeners(world)
  let redis: Awaited<ReturnType<typeof startRedis>>
  let nodes: [World, World]
  const createNode = async () =>
    createWorld({ databaseUrl: world().databaseUrl, redis: await redisAt(redis.url), timings })
  beforeAll(async () => {
    redis = await startRedis()
    nodes = [await createNode(), await createNode()]
  })
  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await redis.kill()
  })
  const on = (node: World, { token }: User) => node.api({ token })
  const health = (node: World) => node.api().service.health()
  /** Resolves once the nodes have Redis again, too: they ask after growing pauses. */
  const connected = async () => {
    for (const node of nodes) await until(async () => (await health(node)).checks.redis === 'ok')
  }

  test('receive from each other only what they have subscribers for', async () => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    // Nodes of its own: for half a minute, others keep the topics that earlier tests have left.
    const [sender, receiver] = [await createNode(), await createNode()]
    onTestFinished(async () => {
      await sender.stop()
      await receiver.stop()
    })
    const topics = (node: World) =>
      node.metrics.registry.metrics().then((text) => sample(text, 'parley_redis_topics'))
    // Ana's own topic, for as long as she is connected.
    const visits = [connect(ana, receiver), connect(ana, receiver)]
    for (const visit of visits) await visit.ready()
    expect(await topics(receiver)).toBe(1)
    for (const visit of visits) visit.disconnect()
    await until(async () => (await topics(receiver)) === 0)
    const listener = await listenAs(ben, channelTopic(channelId), receiver)
    const bens = await listenAs(ben, userTopic(ben), receiver)
    const { id: messageId } = await on(sender, ana).messages.send({ channelId, text: 'hello' })
    await on(sender, ana).reactions.add({ channelId, messageId, emoji: '👍' })
    await on(sender, ana).typing.set({ channelId })
    await listener.untilType('message.new')
    await listener.untilType('reaction.added')
    await listener.untilType('typing.start')
    await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 1)
    // Read on the other node: the count comes through the user's topic.
    await on(sender, ben).reads.mark({ channelId })
    await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 0)
    expect(await topics(sender)).toBe(0)
    expect(await topics(receiver)).toBe(2)
  })

  test('pass the commands of a client without WebSocket to the node of its stream', async () => {
    const [ana] = await newUsers()
    // Redis may lose a note: then the answer is 404, and the client connects again.
    const stream = await until(async () => {
      const stream = await RawStream.connect(nodes[0], ana, { emulationNode: nodes[1] })
      onTestFinished(() => stream.terminate())
      const status = await stream.post('{"id":2,"unsubscribe":{"channel":"x"}}')
      expect([204, 404]).toContain(status)
      return status === 204 && stream
    })
    await stream.reply(2)
    await stream.ask({ id: 3, subscribe: { channel: userTopic(ana) } })
    const asked = await stream.ask({ id: 4, presence_stats: { channel: userTopic(ana) } })
    expect(asked.presence_stats).toEqual({ num_clients: 1, num_users: 1 })
  })

  test('work and say so while Redis is away, and recover when it is back empty', async () => {
    const [ana, ben] = await newUsers()
    const channelId = await createGroup(ana, ben)
    const listener = await listenAs(ben, channelTopic(channelId), nodes[1])
    const bens = await listenAs(ben, userTopic(ben), nodes[1])
    await connected()
    const shown = async (name: string) => sample(await nodes[0].metrics.registry.metrics(), name)
    const lost = () => shown('parley_notes_lost_total{broker="redis"}')
    const listenerIs = (up: number) => until(async () => (await shown('parley_listener_up')) === up)
    await listenerIs(1)
    const before = await lost()
    await redis.kill()
    await until(async () => (await health(nodes[1])).checks.redis === 'unreachable')
    await listenerIs(0)
    await on(nodes[0], ana).messages.send({ channelId, text: 'meanwhile' })
    await listener.untilType('message.new')
    await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 1)
    await on(nodes[0], ben).reads.mark({ channelId })
    await until(async () => (await lost()) > before)
    await redis.start()
    await bens.until(() => counts(bens, 'channel.unread_changed').at(-1) === 0)
    await connected()
    await on(nodes[0], ana).typing.set({ channelId })
    await listener.untilType('typing.start')
  })

  test('a node starts without Redis, says so, and uses it once it is there', async () => {
    const late = await startRedis()
    await late.kill()
    const node = await createWorld({
      databaseUrl: world().databaseUrl,
      redis: await redisAt(late.url),
      timings,
    })
    onTestFinished(async () => {
      await node.stop()
      await late.kill()
    })
    // A busy machine may not be well at once.
    const said = await until(async () => {
      const { status, checks } = await health(node)
      return checks.redis === 'unreachable' && status
    })
    expect(said).toBe('ok')
    await late.start()
    await until(async () => (await health(node)).checks.redis === 'ok')
  })

  test('a node that Redis allows no channels asks again after growing pauses', async () => {
    // Others' connections would be counted too.
    const strict = await startRedis()
    onTestFinished(strict.kill)
    const { connect } = await redisAt(strict.url)
    const { client: admin, isReady, close } = connect({ name: 'admin', commandMs: 5_000 })
    onTestFinished(close)
    await until(isReady)
    await admin.call('ACL', 'SETUSER', 'chat', 'on', '>s@:e', '~*', '+@all', 'resetchannels')
    const warn = vi.fn()
    const broker = createRedisBroker({
      ...(await redisAt(strict.url.replace('//', '//chat:s%40%3Ae@'), 'refused')),
      ...{ nodeId: 'refused', log: { warn, info: () => {} }, report: () => {} },
      ...{ onLost: () => {}, onTopics: () => {} },
    })
    onTestFinished(broker.stop)
    const connections = async () =>
      Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
    const before = await connections()
    // It waits for a second.
    await broker.start({ onNote: () => {}, onMissedNotes: () => {} })
    expect((await connections()) - before).toBeLessThan(10)
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      { fault: expect.stringContaining('NOPERM') },
      expect.stringContaining('Redis unavailable'),
    )
    await admin.call('ACL', 'SETUSER', 'chat', 'allchannels')
    await until(broker.isUp)
  })

  test('a connection that its client ended by itself in a failover is made again', async () => {
    const { connect } = await redisAt(redis.url)
    const { client, isReady, problem, close } = connect({ name: 'ended', commandMs: 5_000 })
    onTestFinished(close)
    await until(isReady)
    client.disconnect()
    await until(() => !isReady())
    expect(problem()).toBe('the connection was lost')
    await until(isReady)
  })

  test('share a rate window of each kind, which ends a minute after its first call', async () => {
    const options = { ...(await redisAt(redis.url, 'kinds')), patienceMs: 10_000 }
    const windows = createSharedWindows(options)
    onTestFinished(windows.close)
    const limits = createRateLimits({ tokens: 0, messages: 2, requests: 2 }, windows)
    await until(() => windows.take('probe', 1))
    expect([await take(limits, 'dan'), await take(limits, 'dan')]).toEqual([true, true])
    expect(await take(limits, 'dan')).toBe(false)
    const first = await limits.take('requests', 'dan')
    expect(first).toMatchObject({ remaining: 1 })
    expect(first?.resetSeconds).toBeGreaterThan(30)
    const { client, isReady, close } = options.connect({ name: 'clock', commandMs: 10_000 })
    onTestFinished(close)
    await until(isReady)
    // As if most of the minute were over.
    expect(await client.pexpire(`${options.prefix}:rate:requests:dan`, 5_000)).toBe(1)
    const last = await limits.take('requests', 'dan')
    expect(last).toMatchObject({ remaining: 0, isExceeded: false })
    expect(last?.resetSeconds).toBeLessThanOrEqual(5)
  })

  test('count the calls of a user together, exactly, and apart while Redis is away', async () => {
    const limits = await redisAt(redis.url, 'limits')
    const [one, two] = [limits, limits].map((options) => {
      const windows = createSharedWindows(options)
      onTestFinished(windows.close)
      return createRateLimits({ tokens: 0, messages: 10, requests: 0, appRequests: 15 }, windows)
    })
    if (!one || !two) return
    // Both are connected once they see the same window, of a user whom neither has counted before.
    let probes = 0
    await until(async () => {
      const user = `probe-${++probes}`
      const left = [await one.take('messages', user), await two.take('messages', user)]
      return left[0]?.remaining === 9 && left[1]?.remaining === 8
    })
    const windows = await Promise.all(upTo(20).flatMap(() => [take(one, 'ana'), take(two, 'ana')]))
    expect(windows.filter((isPassed) => isPassed)).toHaveLength(10)
    const { giveBack } = (await one.take('messages', 'ben')) ?? {}
    for (const _ of upTo(9)) await take(two, 'ben')
    expect(await take(two, 'ben')).toBe(false)
    giveBack?.()
    await until(() => take(two, 'ben'))
    expect(await take(one, 'ben')).toBe(false)
    // A call that is given back after the end of its window frees no room in the next one.
    const late = createSharedWindows(limits)
    onTestFinished(late.close)
    await until(() => late.take('other', 1))
    late.giveBack('messages:cem')
    await late.take('other', 1)
    for (const _ of upTo(10)) await take(one, 'cem')
    expect(await take(two, 'cem')).toBe(false)
    const ofApp = { messages: 2 }
    await one.take('messages', 'dora', ofApp)
    expect(await two.take('messages', 'dora', ofApp)).toMatchObject({ limit: 2, remaining: 0 })
    await redis.kill()
    // Never refused because Redis is away, and each counts by itself.
    for (const limited of [one, two]) {
      const alone = await Promise.all(upTo(12).map(() => take(limited, 'ana')))
      expect(alone.filter((isPassed) => isPassed)).toHaveLength(10)
    }
    await redis.start()
    await connected()
  })
})

/** Whether a message of the user may pass. */
const take = async (limits: ReturnType<typeof createRateLimits>, user: string) =>
  (await limits.take('messages', user))?.isExceeded === false
