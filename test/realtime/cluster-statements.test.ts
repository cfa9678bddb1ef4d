import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { upTo } from '../support/events.ts'
import { hasRedis, redisAt, startRedis } from '../support/redis.ts'
import { isElsewhere } from '../support/statements.ts'
import { patient } from '../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'
import { counts, createGroup, useListeners } from './listeners.ts'

const NEVER = 1_000_000
/** Nothing but messages makes a statement, however slow the machine. */
const timings = {
  reconcileMs: NEVER,
  beatMs: NEVER,
  lookMs: NEVER,
  silentNodeMs: NEVER,
  brokerSilenceMs: NEVER,
}
const quiet = { poolSize: 2, timings }
/** Beside the node where everything happens. */
const OTHERS = 7

describe.each(['PostgreSQL', 'Redis'] as const)('on nodes connected by %s', (kind) => {
  const skip = kind === 'Redis' && !hasRedis
  const check = test.skipIf(skip)
  // It must not take the others for dead, which do not beat.
  const world = useWorld({ timings })
  const { listenAs, userTopic } = useListeners(world)
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
    const told = (count: number) =>
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
    await told(1)
    for (const own of statements) own.length = 0

    for (const count of [2, 3, 4]) {
      await bens.messages.send({ channelId: few, text: `${count}` })
      await told(count)
    }
    await anas.messages.send({ channelId: all, text: 'the last' })
    for (const listener of listeners)
      await listener.until(() => counts(listener, 'channel.unread_changed').at(-1) === 2)

    const [own = [], ...others] = statements
    expect(others).toEqual(others.map(() => []))
    expect(own.filter((statement) => /m\.node_id, m\.app_id/.test(statement))).toHaveLength(4)
  })
  check('a reconciliation counts no channel that nobody on its node has', async () => {
    const [ana, cem] = await world().users('ana-beside', 'cem-idle')
    const own: string[] = []
    const { databaseUrl } = world()
    const reconciled = { ...quiet, timings: { ...timings, reconcileMs: 100 } }
    const onStatement = (statement: string) => void own.push(statement)
    const idle = await createWorld({ ...reconciled, ...shared, databaseUrl, onStatement })
    nodes.push(idle)
    const channelId = await createGroup(ana)
    // cem has no channel, and was never told a count.
    await listenAs(cem, userTopic(cem), idle)
    const looked = () => own.filter((statement) => /from events\s+where created_at/.test(statement))
    await ana.messages.send({ channelId, text: 'hello' })
    const before = looked().length
    await vi.waitUntil(() => looked().length > before + 4, patient)
    expect(own.filter((statement) => /m\.node_id, m\.app_id/.test(statement))).toEqual([])
    expect(own.some((statement) => /as is_recent/.test(statement))).toBe(true)
  })
})
