import { topics } from '@parley/contract'
import { createPostgresBroker } from '@parley/server/realtime/broker/postgres-broker'
import { MissedProfiles } from '@parley/server/realtime/fanout/missed-profiles'
import { timings as defaults } from '@parley/server/realtime/timings'
import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../support/proxy.ts'
import { sample } from '../support/scrape.ts'
import { slowness } from '../support/slowness.ts'
import { useSockets } from '../support/socket.ts'
import { connectRaw } from '../support/stream.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createGroup, presenceOf, useListeners } from './listeners.ts'

// Nodes learn of each other's events by messages alone: comparisons are an hour away.
const timings = { reconcileMs: 3_600_000, comparePresenceMs: 3_600_000 }
const world = useWorld({ timings })
const { connect, listenAs, channelTopic, userTopic, newUsers } = useListeners(world)
const terminatedLater = useSockets()
/** The promise for an event of another node, with room for a busy machine. */
const PROMPTLY_MS = 5_000 * slowness

/** Another node, whose notes go by way of a proxy. */
async function nodeBehindProxy(options: { delayMs?: number }, given: Partial<typeof defaults>) {
  const proxy = await openProxy(world().databaseUrl, options)
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    brokerUrl: proxy.databaseUrl,
    timings: { ...timings, ...given },
  })
  onTestFinished(async () => {
    await node.stop()
    proxy.close()
  })
  return { node, proxy }
}

test('messages of two nodes in turns arrive once, in order, however late notes are', async () => {
  const [ana, ben] = await newUsers()
  const { node } = await nodeBehindProxy({ delayMs: 60 }, {})
  const channelId = await createGroup(ana, ben)
  const listeners = [
    await listenAs(ben, channelTopic(channelId)),
    await listenAs(ben, channelTopic(channelId), node),
  ]
  const elsewhere = node.api({ token: ana.token })
  for (let round = 0; round < 8; round++) {
    // One after the other, so that each is published where its predecessor is not known yet.
    for (const { messages } of [ana, elsewhere, elsewhere, ana])
      await messages.send({ channelId, text: `${round}` })
  }
  for (const listener of listeners) {
    await listener.until((received) => received.length >= 32, PROMPTLY_MS)
    const offsets = listener.received.map(({ offset }) => offset)
    expect(offsets).toEqual(Array.from({ length: 32 }, (_, index) => index + 3))
  }
})

test('a node whose listening connection fell silent replaces it and catches up', async () => {
  const [ana, ben] = await newUsers()
  const { node, proxy } = await nodeBehindProxy({}, { brokerBeatMs: 100, brokerSilenceMs: 1_000 })
  const channelId = await createGroup(ana, ben)
  const raw = await terminatedLater(connectRaw(node, ben))
  const channel = topics.channel(world().appId, channelId)
  await raw.ask({ id: 2, subscribe: { channel } })
  proxy.silence()
  await ana.messages.send({ channelId, text: 'missed' })
  await raw.pushed(({ pub }) => pub?.data.payload.message?.text === 'missed')
  await ana.messages.send({ channelId, text: 'received' })
  await raw.pushed(({ pub }) => pub?.data.payload.message?.text === 'received')
})

test('a user stays online when another node says too late that they had left', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const anas = await listenAs(ana, userTopic(ana))
  await connect(ben).ready()
  await anas.until(() => presenceOf(anas, ben.id).length === 1)
  // They had left there before they came here.
  const { databaseUrl: url, appId } = world()
  const late = createPostgresBroker({ url, nodeId: 'late', report: () => {} })
  late.send({ kind: 'presence', appId, userId: ben.id, isOnline: false, lastActiveAt: null })
  await late.stop()
  // Ana may or may not receive that, and receives the truth after it.
  await anas.until(() => {
    const received = presenceOf(anas, ben.id)
    return received.length > 1 && received.at(-1) === 'presence.online'
  })
})

test('notes that a node could not send to the others are counted', async () => {
  const [ana, ben] = await newUsers()
  const { node, proxy } = await nodeBehindProxy({}, {})
  const channelId = await createGroup(ana, ben)
  proxy.redirect('postgres://127.0.0.1:1')
  proxy.cut()
  await node.api({ token: ana.token }).messages.send({ channelId, text: 'missed' })
  const lost = async () =>
    sample(await node.metrics.registry.metrics(), 'parley_notes_lost_total{broker="postgres"}')
  await until(async () => (await lost()) > 0)
})

test('a silent connection between nodes is noticed within 15 s', () => {
  const { brokerBeatMs, brokerSilenceMs } = defaults
  expect(Math.ceil(brokerSilenceMs / brokerBeatMs) * brokerBeatMs).toBeLessThanOrEqual(15_000)
  // Two lost notes are no reason to connect again.
  expect(brokerSilenceMs).toBeGreaterThan(2 * brokerBeatMs)
})

/** The profiles that a node finds in the database and announces, and its reports. */
function openProfiles() {
  const { pool, metrics } = world()
  const announced: string[] = []
  const problems: string[] = []
  const profiles = new MissedProfiles({
    db: pool,
    metrics,
    report: (error, problem) => void problems.push(`${problem}: ${error}`),
    notify: ({ user }) => void announced.push(user.id),
  })
  return { profiles, announced, problems }
}

test('a profile that was changed before a gap, and committed in it, is sent', async () => {
  const { appId, db } = world()
  const [ana, ben] = await newUsers()
  const change = (id: string, seconds: number) => db`
    update users
    set profile_changed_at = now() - ${seconds} * interval '1 second'
    where app_id = ${appId}
      and id = ${id}`
  await change(ana.id, 10)
  await change(ben.id, 60)
  const { profiles, announced } = openProfiles()
  profiles.missed(0)
  await profiles.catchUp()
  expect([announced.includes(ana.id), announced.includes(ben.id)]).toEqual([true, false])
})

test('users who were renamed and then deleted during a gap get no profile event', async () => {
  const [ana, ben] = await world().users('deleted-ana', 'renamed-ben')
  for (const { id } of [ana, ben]) await world().user(id, { name: 'Renamed' })
  await world().backend.users.delete({ userId: ana.id })
  const { profiles, announced } = openProfiles()
  profiles.missed(0)
  await profiles.catchUp()
  expect([announced.includes(ana.id), announced.includes(ben.id)]).toEqual([false, true])
})

test('a change that could not be sent is tried for ten minutes, and then given up', async () => {
  const { appId, db } = world()
  const [ana, ben, cleo] = await world().users('late-ana', 'late-ben', 'late-cleo')
  const change = (id: string, seconds: number) => db`
    update users
    set
      profile_changed_at = now() - ${seconds} * interval '1 second',
      deleted_at = case when id = ${cleo.id} then now() end
    where app_id = ${appId}
      and id = ${id}`
  await change(ana.id, 590)
  for (const { id } of [ben, cleo]) await change(id, 610)
  const { profiles, announced, problems } = openProfiles()
  for (const { id } of [ana, ben, cleo])
    profiles.handleLost({ appId, user: { id, name: 'New', image: null } })
  await profiles.catchUp()
  expect(announced).toEqual([ana.id])
  expect(problems).toEqual(['changes of profiles given up: Error: of 1 users'])
})
