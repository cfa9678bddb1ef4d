import { limits, topics } from '@parley/contract'
import { selectGrants } from '@parley/server/realtime/grants'
import { beforeAll, expect, test } from 'vitest'
import { quietTimings } from './support/quiet.ts'
import { rowsReadBy } from './support/rows-read.ts'
import { useWorld } from './support/world.ts'

const world = useWorld({ poolSize: 1, timings: quietTimings })

/** How many users and channels the app gets between two runs, without a new plan. */
const MANY = 2_000
/** How many rows more a call may read then: those that it has left itself. */
const MORE = 60

let calls: Record<string, () => Promise<unknown>> = {}
const planned = new Map<string, number>()
const costOf = (work: () => Promise<unknown>) => rowsReadBy(world(), 'generic', work)

/** PostgreSQL plans all calls for an app with one channel and two users, which then grows. */
beforeAll(async () => {
  const { appId, db, pool } = world()
  const [ana, ben] = await world().users('ana', 'ben')
  const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
  const channelId = channel.id
  const { id: parentId } = await ana.messages.send({ channelId, text: 'first' })
  const request = { appId, userId: 'ana', topic: topics.channel(appId, channelId) }
  const frames = [[{ ...request, since: limits.realtime.recoverable }]]
  calls = {
    send: () => ana.messages.send({ channelId, text: 'next' }),
    reply: () => ana.messages.send({ channelId, text: 'reply', parentId }),
    edit: () => ana.messages.edit({ channelId, messageId: parentId, text: crypto.randomUUID() }),
    page: () => ana.messages.list({ channelId, limit: 2 }),
    mark: () => ben.reads.mark({ channelId }),
    'unread total': () => ben.reads.unreadCount(),
    'channel list': () => ben.channels.list({}),
    subscribe: () => pool.use((connection) => selectGrants(connection, frames)),
  }
  for (const [name, call] of Object.entries(calls)) planned.set(name, await costOf(call))
  await db`
    insert into users (app_id, id)
    select ${appId}, 'user-' || n
    from generate_series(1, ${MANY}) n`
  await db`
    insert into channels (id, app_id, cid, type, name, created_by)
    select gen_random_uuid(), ${appId}, 'public:' || n, 'public', 'Room', 'user-1'
    from generate_series(1, ${MANY}) n`
})

test.each([
  ...['send', 'reply', 'edit', 'page', 'mark', 'unread total', 'channel list', 'subscribe'],
])('%s, planned while the app was small, finds by keys once it is large', async (name) => {
  const call = calls[name] ?? expect.fail()
  expect(await costOf(call)).toBeLessThanOrEqual((planned.get(name) ?? 0) + MORE)
})
