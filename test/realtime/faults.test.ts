import type { Envelope } from '@parley/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listen, type TopicListener } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { counts, createGroup, payloads, useListeners } from './listeners.ts'

const world = useWorld({
  presenceGraceSeconds: 0,
  timings: { typingMs: 300, beatMs: 300, reconcileMs: 300 },
})
const { connect, listenAs, channelTopic, userTopic, newUsers } = useListeners(world)

/** What a listener was told of a user's presence. */
const presenceOf = ({ received }: TopicListener, userId: string) =>
  received.flatMap(({ envelope }) => (isPresence(envelope, userId) ? [envelope.type] : []))
const isPresence = ({ type, payload }: Envelope, userId: string) =>
  (type === 'presence.online' || type === 'presence.offline') && payload.userId === userId

test('typing stops by itself on every node when the node of the typist has died', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  // It does not send the stop while the test runs.
  const silent = await createWorld({
    timings: { typingMs: 60_000 },
    databaseUrl: world().databaseUrl,
  })
  onTestFinished(silent.stop)
  const anas = await listenAs(ana, channelTopic(channelId))
  await silent.api({ token: ben.token }).typing.set({ channelId })
  await anas.untilType('typing.stop')
  expect(anas.types).toEqual(['typing.start', 'typing.stop'])
  expect(payloads(anas, 'typing.stop')).toEqual(payloads(anas, 'typing.start'))
})

for (const [name, isWritten] of [
  ['was not written', false],
  ['was written without an answer', true],
] as const) {
  test(`co-members learn of a departure that ${name}`, async () => {
    const [ana, ben] = await newUsers()
    await createGroup(ana, ben)
    const anas = await listenAs(ana, userTopic(ana))
    const bens = connect(ben)
    await bens.ready()
    await anas.until(() => presenceOf(anas, ben.id).length === 1)
    const { db, appId } = world()
    await db.begin(async (tx) => {
      await tx`lock table connections in access exclusive mode`
      bens.disconnect()
      await until(async () => (await terminateWriters()).length > 0)
      const row = tx`app_id = ${appId} and user_id = ${ben.id}`
      if (isWritten) await tx`delete from connections where ${row}`
    })
    await anas.untilType('presence.offline')
    expect(presenceOf(anas, ben.id)).toEqual(['presence.online', 'presence.offline'])
  })
}

/** Ends the connections that wait to write who is connected. */
const terminateWriters = () => world().db`
  select pg_terminate_backend(pid)
  from pg_stat_activity
  where datname = current_database()
    and wait_event_type = 'Lock'
    and query like '%insert into connections%'`

test('unread counts are sent and sockets stay open when the clock is set back', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const client = connect(ben)
  const closed = vi.fn()
  client.on('connecting', closed)
  await client.ready()
  closed.mockClear()
  const bens = await listen(client, userTopic(ben))
  await ana.messages.send({ channelId, text: 'before' })
  await bens.until(() => counts(bens, 'channel.unread_changed').includes(1))
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000)
  onTestFinished(() => clock.mockRestore())
  await ana.messages.send({ channelId, text: 'after' })
  await bens.until(() => counts(bens, 'channel.unread_changed').includes(2), 5_000)
  await listen(client, channelTopic(channelId))
  expect(closed).not.toHaveBeenCalled()
})
