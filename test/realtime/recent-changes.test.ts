import { randomUUID } from 'node:crypto'
import { createMetrics } from '@parley/server/core/metrics'
import { MissedCopies } from '@parley/server/realtime/fanout/missed-copies'
import { selectRemoved, selectUnreadChanges } from '@parley/server/realtime/queries'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { NEVER, quietTimings } from '../support/quiet.ts'
import { discardPlans, rowsReadBy } from '../support/rows-read.ts'
import { patient } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createGroup, useListeners } from './listeners.ts'

const world = useWorld({
  poolSize: 1,
  timings: quietTimings,
})
const { listenAs, channelTopic } = useListeners(world)

const EVENTS = 3_000

beforeAll(async () => {
  const { db, appId } = world()
  await db`
    insert into events (topic, "offset", type, envelope, created_at)
    select
      kind || ':' || ${appId} || ':' || ${appId}, 2 * n - (type = 'message.new')::int, type, '{}',
      now() - interval '1 hour'
    from generate_series(1, ${EVENTS}::int) n
    cross join (
      values ('chat', 'message.new'), ('chat', 'channel.updated'), ('user', 'workspace.removed')
    ) given (kind, type)`
  await discardPlans(world())
})

/** A node reads these from the events of the last seconds, regularly or after a gap. */
const reads = {
  'counts that changed': () =>
    world().pool.use((db) => selectUnreadChanges(db, { seconds: 20, leastMs: 0 })),
  'users who were removed': () => world().pool.use((db) => selectRemoved(db, 20)),
  'channels that were edited': () => {
    const missed = new MissedCopies({
      db: world().pool,
      copy: async () => {},
      metrics: createMetrics(),
      report: () => {},
    })
    missed.missed(5_000)
    return missed.catchUp()
  },
}

test.each(Object.entries(reads))('%s are found without the events before', async (_, read) => {
  expect(await rowsReadBy(world(), 'generic', async () => void (await read()))).toBeLessThan(100)
})

test('only sends, deletions and joins change counts', async () => {
  const { db, pool, appId } = world()
  const types = ['message.new', 'message.deleted', 'channel.member_joined', 'message.updated']
  const channelIds: string[] = types.map(() => randomUUID())
  await db`
    insert into events (topic, "offset", type, envelope)
    select 'chat:' || ${appId} || ':' || id, 7, type, '{}'
    from unnest(${channelIds}::text[], ${types}::text[]) given (id, type)`
  const changed = await pool.use((tx) => selectUnreadChanges(tx, { seconds: 20, leastMs: 0 }))
  const ours = changed.filter(({ channelId }) => channelIds.includes(channelId))
  expect(new Set(ours)).toEqual(
    new Set(channelIds.slice(0, 3).map((channelId) => ({ channelId, offset: 7 }))),
  )
})

test('a node does not count again what another one is about to count', async () => {
  const { databaseUrl } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const channelId = await createGroup(ana, ben)
  // It counts once when it starts, and then pauses.
  const pausing = { ...quietTimings, unreadPauseMs: NEVER }
  const sender = await createWorld({ databaseUrl, timings: pausing })
  onTestFinished(sender.stop)
  const own: string[] = []
  const node = await createWorld({
    databaseUrl,
    timings: { ...quietTimings, reconcileMs: 100, othersCountMs: NEVER },
    onStatement: (statement) => void own.push(statement),
  })
  onTestFinished(node.stop)
  const listener = await listenAs(ben, channelTopic(channelId), node)
  await sender.api({ token: ana.token }).messages.send({ channelId, text: 'hello' })
  await listener.untilType('message.new')

  const looked = () => own.filter((statement) => /from events\s+where created_at/.test(statement))
  const before = looked().length
  await vi.waitUntil(() => looked().length > before + 4, patient)
  expect(own.filter((statement) => /m\.node_id, m\.app_id/.test(statement))).toEqual([])
})
