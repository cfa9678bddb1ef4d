import type { Envelope } from '@parley/contract'
import { topics } from '@parley/contract'
import { Sessions } from '@parley/server/realtime/sessions'
import { UnreadNotifier } from '@parley/server/realtime/unread/index'
import { expect, onTestFinished, test } from 'vitest'
import { insertMembers, insertUsers } from '../support/inserted.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()
const NODE = 'chunks'

const outOfReach = new Error('out of reach')
const timeout = Object.assign(new Error('canceling statement'), { code: '57014' })

/** A notifier of a node with these users, on a database of which the numbered uses fail. */
async function openNotifier(userIds: string[], failing: number[], error = outOfReach) {
  const { db, pool, appId } = world()
  await db`
    insert into connections (node_id, app_id, user_id)
    select ${NODE}, ${appId}, given
    from unnest(${userIds}::text[]) given`
  const sessions = new Sessions()
  for (const userId of userIds)
    sessions.add({ appId, userId, generation: 0, topics: [], close: () => {} })
  let uses = 0
  const use: typeof pool.use = (work, deadline) => {
    if (failing.includes(++uses)) return Promise.reject(error)
    return pool.use(work, deadline)
  }
  const sent = new Map<string, Envelope[]>()
  const problems: string[] = []
  const notifier = new UnreadNotifier({
    db: { ...pool, use },
    nodeId: NODE,
    sessions,
    pauseMs: 0,
    interest: { settled: () => undefined },
    hasReceivers: () => true,
    send: () => {},
    broadcast: (names, event) => {
      for (const name of names) sent.set(name, [...(sent.get(name) ?? []), event])
    },
    report: (_, problem) => void problems.push(problem),
  })
  onTestFinished(() => notifier.stop())
  const totalsOf = (userId: string) =>
    (sent.get(topics.user(appId, userId)) ?? []).flatMap(({ type, payload }) =>
      type === 'channel.total_unread_changed' && 'count' in payload ? [payload.count] : [],
    )
  return { notifier, problems, totalsOf, uses: () => uses }
}

test('counts of 450 new users load 200 at a time, and a failure repeats only its own', async () => {
  const ana = await world().user('ana')
  const userIds = await insertUsers(world(), 'new', 450)
  const kept = await ana.channels.create({ type: 'group', name: 'Kept' })
  const left = await ana.channels.create({ type: 'group', name: 'Left' })
  for (const { id: channelId } of [kept, left]) {
    await insertMembers(world(), channelId, userIds)
    await ana.messages.send({ channelId, text: 'hi' })
  }
  // Each round counts the channel, then users 1 to 200, 201 to 400 and the rest.
  const { notifier, problems, totalsOf, uses } = await openNotifier(userIds, [3, 8])
  const haveTotal = (count: number) => userIds.every((userId) => totalsOf(userId).at(-1) === count)
  notifier.markDirty(kept.id, { offset: 2, author: ana.id })
  await until(async () => haveTotal(2))
  expect([uses(), problems]).toEqual([6, ['unread count failed']])

  await world().db`delete from members where channel_id = ${left.id}`
  for (const userId of userIds) notifier.memberLeft({ appId: world().appId, userId })
  await until(async () => haveTotal(1))
  expect([uses(), problems]).toEqual([10, ['unread count failed', 'unread count failed']])
})

test('counts whose statements took too long are read again one by one, and sent', async () => {
  const ana = await world().user('ana')
  const userIds = await insertUsers(world(), 'slow', 30)
  const channels = await Promise.all(
    ['One', 'Two'].map((name) => ana.channels.create({ type: 'group', name })),
  )
  for (const { id: channelId } of channels) {
    await insertMembers(world(), channelId, userIds)
    await ana.messages.send({ channelId, text: 'hi' })
  }
  // The count of both channels, and then of the first one alone.
  const failing = [1, 2]
  const { notifier, problems, totalsOf, uses } = await openNotifier(userIds, failing, timeout)
  const haveTotal = (count: number) => userIds.every((userId) => totalsOf(userId).at(-1) === count)
  for (const { id } of channels) notifier.markDirty(id, { offset: 2, author: ana.id })
  await until(async () => haveTotal(2))
  // The load of all users, who are then loaded in pieces.
  await world().db`delete from members where channel_id = ${channels[1]?.id ?? ''}`
  failing.push(uses() + 1)
  for (const userId of userIds) notifier.memberLeft({ appId: world().appId, userId })
  await until(async () => haveTotal(1))
  expect(uses()).toBeGreaterThanOrEqual((failing[2] ?? 0) + 3)
  expect(problems).toEqual([])
})
