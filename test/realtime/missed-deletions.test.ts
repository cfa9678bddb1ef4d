import { limits } from '@parley/contract'
import { expect, onTestFinished, test } from 'vitest'
import { withoutCleanup } from '../support/locks.ts'
import { openProxy } from '../support/proxy.ts'
import type { TopicListener } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createGroup, useListeners } from './listeners.ts'

const world = useWorld()
const { listenAs, userTopic, newUsers } = useListeners(world)

/** The channels whose deletion the user was notified of. */
const deletedFor = ({ received }: TopicListener) =>
  new Set(
    received.flatMap(({ envelope: { type, payload } }) =>
      type === 'channel.deleted' ? [payload.channelId] : [],
    ),
  )

/** Users who left the channel before, and are not connected. */
const addFormerMembers = (channelId: string, count: number) => world().db`
  insert into former_members (app_id, channel_id, user_id)
  select ${world().appId}, ${channelId}, 'gone-' || n
  from generate_series(1, ${count}::int) as n`

test('users whose node missed notes learn which of their channels were deleted', async () => {
  const [ana, ben] = await newUsers()
  const [other] = await newUsers()
  const channels = [await createGroup(ana, ben), await createGroup(ana, ben)] as const
  const large = await createGroup(ana, ben)
  // As long as it wants events, its deleted channels stay, with their former members.
  await world().backend.webhooks.create({ url: 'https://x.test', events: ['channel.deleted'] })
  await addFormerMembers(large, limits.largeChannelMembers + 1)
  const proxy = await openProxy(world().databaseUrl)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    brokerUrl: proxy.databaseUrl,
    timings: { brokerBeatMs: 100, brokerSilenceMs: 1_000, reconcileMs: 300 },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  const bens = await listenAs(ben, userTopic(ben), node)
  const others = await listenAs(other, userTopic(other), node)

  proxy.silence()
  proxy.redirect('postgres://127.0.0.1:1')
  // The cleanup soon turns members of a deleted channel into former ones.
  for (const channelId of [channels[0], large]) await ana.channels.delete({ channelId })
  await until(async () => (await membersOf([channels[0], large])).length === 0)
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId: channels[1] })
    proxy.redirect(world().databaseUrl)
    await bens.until(() => deletedFor(bens).size === 3)
  })
  expect(deletedFor(bens)).toEqual(new Set([...channels, large]))
  // What is sent next shows that nothing came before it.
  await createGroup(ana, other)
  await others.untilType('channel.added')
  expect(deletedFor(others)).toEqual(new Set())
})

const membersOf = (channelIds: string[]) => world().db`
  select user_id
  from members
  where channel_id = any(${channelIds}::uuid[])`
