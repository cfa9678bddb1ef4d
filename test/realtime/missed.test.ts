import { onTestFinished, test } from 'vitest'
import { openProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { counts, createGroup, presenceOf, useListeners } from './listeners.ts'

const world = useWorld({
  presenceGraceSeconds: 0,
  timings: { beatMs: 300, reconcileMs: 300 },
})
const { connect, listenAs, userTopic, newUsers } = useListeners(world)

test('a node that heard no notes tells its users the reads and presence they missed', async () => {
  const [ana, ben] = await newUsers()
  const [eve, dan] = await newUsers()
  const channelId = await createGroup(ana, ben, eve, dan)
  await ana.messages.send({ channelId, text: 'unread' })
  const dans = connect(dan)
  await dans.ready()
  const proxy = await openProxy(world().databaseUrl)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    brokerUrl: proxy.databaseUrl,
    timings: { brokerBeatMs: 100, brokerSilenceMs: 400, reconcileMs: 300 },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  // Nobody told Eve of a count; Ben was told one.
  const eves = await listenAs(eve, userTopic(eve), node)
  const bens = await listenAs(ben, userTopic(ben), node)
  await node.api({ token: ben.token }).receipts.mark({
    channelId,
    messageId: (await ana.messages.send({ channelId, text: 'more' })).id,
  })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 0)
  await ana.messages.send({ channelId, text: 'last' })
  await bens.until(() => counts(bens, 'channel.total_unread_changed').at(-1) === 1)
  const before = [eves.received.length, bens.received.length] as const

  proxy.silence()
  proxy.redirect('postgres://127.0.0.1:1')
  await ben.reads.mark({ channelId })
  await eve.reads.mark({ channelId })
  dans.disconnect()
  await connect(ana).ready()
  await until(async () => (await connectedIds()).join() === [ana, ben, eve].map(idOf).sort().join())
  proxy.redirect(world().databaseUrl)

  for (const [listener, from] of [
    [eves, before[0]],
    [bens, before[1]],
  ] as const) {
    await listener.until(() => counts(listener, 'channel.unread_changed', from).at(-1) === 0)
    await listener.until(() => counts(listener, 'channel.total_unread_changed', from).at(-1) === 0)
    await listener.until(() => presenceOf(listener, dan.id).at(-1) === 'presence.offline')
    await listener.until(() => presenceOf(listener, ana.id).at(-1) === 'presence.online')
  }
})

const idOf = ({ id }: { id: string }) => id
const connectedIds = async () => {
  const rows = await world().db<{ userId: string }[]>`
    select user_id
    from connections
    where app_id = ${world().appId}`
  return rows.map(({ userId }) => userId).sort()
}

test('the users of a dead node go offline when its rows are lost in a crash', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const never = 3_600_000
  const dead = await createWorld({
    databaseUrl: world().databaseUrl,
    timings: { beatMs: never, reconcileMs: never },
  })
  onTestFinished(dead.stop)
  const anas = await listenAs(ana, userTopic(ana))
  await connect(ben, dead).ready()
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.online')
  await world().db`delete from connections where app_id = ${world().appId}`
  await anas.until(() => presenceOf(anas, ben.id).at(-1) === 'presence.offline')
})
