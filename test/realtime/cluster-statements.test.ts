import { type Envelope, topics } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import type { Broker, NodeNote } from '@parley/server/realtime/broker/index'
import { createNodeBroker } from '@parley/server/realtime/broker/node-broker'
import { createWorkerPublisher } from '@parley/server/realtime/worker-publisher'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from '../support/events.ts'
import { NEVER, quietTimings } from '../support/quiet.ts'
import type { TopicListener } from '../support/realtime.ts'
import { hasRedis, redisAt, startRedis } from '../support/redis.ts'
import { sample } from '../support/scrape.ts'
import { isElsewhere } from '../support/statements.ts'
import { patient } from '../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'
import { counts, createGroup, namesOf, useListeners } from './listeners.ts'

/** Nothing but messages makes a statement, however slow the machine. */
const timings = { ...quietTimings, silentNodeMs: NEVER, brokerSilenceMs: NEVER }
/** Users whom an earlier test has left stay for longer than any of them takes. */
const presenceGraceSeconds = 3_600
const quiet = { poolSize: 2, timings, presenceGraceSeconds }
/** Nodes beside the one where everything happens. */
const OTHERS = 7

describe.each(['PostgreSQL', 'Redis'] as const)('on nodes connected by %s', (kind) => {
  const skip = kind === 'Redis' && !hasRedis
  const check = test.skipIf(skip)
  // It must not take the other nodes, which do not beat, for dead.
  const world = useWorld({ timings, presenceGraceSeconds })
  const { connect, listenAs, channelTopic, userTopic } = useListeners(world)
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined
  let shared: { redis: Awaited<ReturnType<typeof redisAt>> } | undefined
  const nodes: World[] = []
  /** The statements of each node; the first one is the node where everything happens. */
  const statements: string[][] = []
  beforeAll(async () => {
    if (skip) return
    if (kind === 'Redis') redis = await startRedis()
    shared = redis && { redis: await redisAt(redis.url) }
    for (const [index] of [0, ...upTo(OTHERS)].entries()) {
      const own: string[] = []
      statements.push(own)
      const onStatement = (statement: string) => {
        if (!isElsewhere(statement) && !/^\s*(begin|commit)/i.test(statement)) own.push(statement)
      }
      const { databaseUrl } = world()
      nodes[index] = await createWorld({ ...quiet, ...shared, databaseUrl, onStatement })
    }
    // A node that begins to listen may have missed notes: it looks for edits last.
    const hasCaughtUp = (own: string[]) => own.some((each) => /'channel\.updated'/.test(each))
    await vi.waitUntil(() => statements.every(hasCaughtUp), patient)
  })
  afterAll(async () => {
    for (const node of nodes) await node.stop()
    await redis?.kill()
  })
  const node = (index: number) => {
    const found = nodes[index]
    if (!found) throw new Error(`no node ${index}`)
    return found
  }

  check('a message costs no statement on nodes whose users do not follow its channel', async () => {
    const users = await world().users('ana', 'ben', ...upTo(OTHERS).map((n) => `user${n}`))
    const [ana, ben, ...listening] = users as [User, User, ...User[]]
    const [anas, bens] = [node(0).api({ token: ana.token }), node(0).api({ token: ben.token })]
    /** A channel of ben's with the first two of the others, and one of everyone's. */
    const few = await createGroup(ben, ...listening.slice(0, 2))
    const all = await createGroup(ana, ...listening)
    const listeners = await Promise.all(
      listening.map((user, index) => listenAs(user, userTopic(user), node(index + 1))),
    )
    const received = (count: number) =>
      Promise.all(
        listeners.map((listener, index) =>
          listener.until(
            () =>
              counts(listener, 'channel.total_unread_changed').at(-1) ===
              (index < 2 ? count : Math.min(count, 1)),
          ),
        ),
      )
    // Users who are seen for the first time have all their counts loaded, once.
    await anas.messages.send({ channelId: all, text: 'hello' })
    await received(1)
    for (const own of statements) own.length = 0

    for (const count of [2, 3, 4]) {
      await bens.messages.send({ channelId: few, text: `${count}` })
      await received(count)
    }
    await anas.messages.send({ channelId: all, text: 'the last' })
    for (const listener of listeners)
      await listener.until(() => counts(listener, 'channel.unread_changed').at(-1) === 2)

    const [own = [], ...others] = statements
    expect(others).toEqual(others.map(() => []))
    expect(own.filter((statement) => /m\.node_id, m\.app_id/.test(statement))).toHaveLength(4)
  })
  check('a message costs no statement on nodes whose users follow its channel', async () => {
    const writer = await world().user('writer')
    const following = await world().users(...upTo(OTHERS).map((n) => `follower${n}`))
    const channelId = await createGroup(writer, ...following)
    const { messages } = node(0).api({ token: writer.token })
    const listeners = await Promise.all(
      following.map((user, index) => listenAs(user, channelTopic(channelId), node(index + 1))),
    )
    // Users who are seen for the first time have all their counts loaded, once.
    await messages.send({ channelId, text: 'hello' })
    const totals = await Promise.all(
      following.map((user, index) => listenAs(user, userTopic(user), node(index + 1))),
    )
    await messages.send({ channelId, text: 'hello again' })
    for (const total of totals)
      await total.until(() => counts(total, 'channel.total_unread_changed').at(-1) === 2)
    for (const own of statements) own.length = 0

    for (const text of ['a', 'b', 'c']) await messages.send({ channelId, text })
    for (const listener of listeners) await listener.untilType('message.new', 5)
    const [, ...others] = statements
    expect(others).toEqual(others.map(() => []))
  })
  check('presence, names and edits of channels are looked up once, for all nodes', async () => {
    const here = await world().user('mover')
    const watching = await world().users(...upTo(OTHERS).map((n) => `watcher${n}`))
    const mover = node(0).api({ token: here.token })
    const group = { name: 'Talk', memberIds: watching.map(({ id }) => id) }
    const { id: channelId } = await mover.channels.create({ type: 'group', ...group })
    const listeners = await Promise.all(
      watching.map((user, index) => listenAs(user, userTopic(user), node(index + 1))),
    )
    // Users who are seen for the first time have all their counts loaded, once: those who joined
    // are counted by the first node as well, and before this.
    await mover.messages.send({ channelId, text: 'hello' })
    for (const listener of listeners)
      await listener.until(() => counts(listener, 'channel.total_unread_changed').at(-1) === 1)
    /** Acts on the first node; returns the statements of all until every listener knows. */
    const statementsUntil = async (
      type: Envelope['type'],
      { fits, happen }: { fits: (payload: object) => boolean; happen: () => Promise<unknown> },
    ) => {
      const hasReceived = (listener: TopicListener) =>
        listener.received.some(({ envelope }) => envelope.type === type && fits(envelope.payload))
      for (const own of statements) own.length = 0
      await happen()
      await Promise.all(listeners.map((listener) => listener.until(() => hasReceived(listener))))
      const [own = [], ...others] = statements.map((all) => [...all])
      expect(others).toEqual(others.map(() => []))
      return own.filter((statement) => /from recipients|recipients\.user_ids/.test(statement))
        .length
    }
    const online = await statementsUntil('presence.online', {
      fits: (payload) => 'userId' in payload && payload.userId === here.id,
      happen: () => connect(here, node(0)).ready(),
    })
    const elsewhere = await listenAs(here, userTopic(here), node(OTHERS))
    // That node has not loaded their counts before, either.
    const [first] = watching
    const { apiKey } = world()
    const asFirst = node(0).api({ apiKey, userId: first?.id ?? '' })
    await asFirst.messages.send({ channelId, text: 'hello, too' })
    await elsewhere.until(() => counts(elsewhere, 'channel.total_unread_changed').at(-1) === 1)
    const backend = node(0).api({ apiKey })
    const renamed = await statementsUntil('user.updated', {
      fits: () => true,
      happen: () => backend.users.put({ userId: here.id, name: 'The mover' }),
    })
    const edited = await statementsUntil('channel.updated', {
      fits: () => true,
      happen: () => mover.channels.update({ channelId, name: 'Moved' }),
    })
    expect([online, renamed, edited]).toEqual([1, 1, 1])
    // Users receive their own changes, too.
    expect(namesOf(elsewhere, here.id)).toEqual(['The mover'])
  })
  check('a worker looks up the recipients of its events once, for all nodes', async () => {
    const { appId, databaseUrl, db, pool } = world()
    const robot = await world().user('robot')
    const served = await world().users(...upTo(OTHERS).map((n) => `served${n}`))
    const channelId = await createGroup(robot, ...served)
    const listeners = await Promise.all(
      served.map((user, index) => listenAs(user, userTopic(user), node(index + 1))),
    )
    const nodeId = 'worker'
    const report = (error: unknown) => expect.unreachable(String(error))
    const log = { warn: report, info: () => {} }
    const metrics = createMetrics()
    const given = { nodeId, report, metrics }
    const broker = createNodeBroker({ ...given, ...shared, databaseUrl, log })
    const worker = createWorkerPublisher({ ...given, db: pool, broker })
    onTestFinished(() => broker.stop())
    // Users who are seen for the first time have all their counts loaded, once.
    const robots = node(0).api({ token: robot.token })
    const sent = await robots.messages.send({ channelId, text: 'hello' })
    for (const listener of listeners)
      await listener.until(() => counts(listener, 'channel.unread_changed').at(-1) === 1)
    await db`update messages set deleted_at = now() where id = ${sent.id}`
    for (const own of statements) own.length = 0

    const about = { topic: topics.channel(appId, channelId), offset: 2, messageId: sent.id }
    const payload = { channelId, messageId: sent.id }
    const event = { type: 'message.deleted', payload, envelope: '{}' }
    worker.publisher.publish([{ ...about, ...event } as never]) // the payload is not read
    await worker.stop()
    for (const listener of listeners)
      await listener.until(() => counts(listener, 'channel.unread_changed').length === 2)
    expect(statements).toEqual(statements.map(() => []))
    expect(sample(await metrics.registry.metrics(), 'parley_events_total')).toBe(1)
  })
  check('a worker that stops sends its edits first, or leaves them to each node', async () => {
    const { db, pool } = world()
    const mover = await world().user('mover-last')
    const channelId = await createGroup(mover)
    await listenAs(mover, userTopic(mover), node(1))
    await mover.channels.update({ channelId, name: 'Moved' })
    const [event] = await db`
      select topic, "offset", type, envelope, message_id
      from events
      where topic = ${topics.channel(world().appId, channelId)}
        and type = 'channel.updated'`
    const sent: NodeNote[] = []
    const broker = { send: (note: NodeNote) => void sent.push(note), hasPeers: () => true }
    const report = (error: unknown) => expect.unreachable(String(error))
    const given = { nodeId: 'worker', report, metrics: createMetrics() }
    const publishing = { ...given, db: pool, broker: broker as Broker } // all that it uses
    const worker = createWorkerPublisher(publishing)
    worker.publisher.publish([{ ...event, payload: {} } as never]) // the payload is not read
    await worker.stop()
    expect(sent).toHaveLength(2)
  })
  check('a reconciliation counts no channel without members on its node', async () => {
    const [ana, cem] = await world().users('ana-beside', 'cem-idle')
    const own: string[] = []
    const { databaseUrl } = world()
    const reconciled = { ...quiet, timings: { ...timings, reconcileMs: 100, othersCountMs: 0 } }
    const onStatement = (statement: string) => void own.push(statement)
    const idle = await createWorld({ ...reconciled, ...shared, databaseUrl, onStatement })
    nodes.push(idle)
    const channelId = await createGroup(ana)
    // cem has no channel, and was never sent a count.
    await listenAs(cem, userTopic(cem), idle)
    const looked = () => own.filter((statement) => /from events\s+where created_at/.test(statement))
    await ana.messages.send({ channelId, text: 'hello' })
    const before = looked().length
    await vi.waitUntil(() => looked().length > before + 4, patient)
    expect(own.filter((statement) => /m\.node_id, m\.app_id/.test(statement))).toEqual([])
    expect(own.some((statement) => /as is_recent/.test(statement))).toBe(true)
  })
})
