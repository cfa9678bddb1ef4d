import { randomUUID } from 'node:crypto'
import { limits, topics } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import { createEventLog } from '@parley/server/realtime/event-log'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openProxy } from '../../support/proxy.ts'
import { centrifugeOf, framings, listen } from '../../support/realtime.ts'
import { connectRaw } from '../../support/stream.ts'
import { patient } from '../../support/until.ts'
import { createWorld, useWorld } from '../../support/world.ts'
import { useRecovery } from './fixture.ts'

const world = useWorld()
const { ana, ben, connected, createLively, currentEpoch } = useRecovery(world)

/** A node on the same database that often compares itself with it. */
const startReconcilingNode = async () => {
  const { databaseUrl } = world()
  const node = await createWorld({ databaseUrl, timings: { reconcileMs: 200 } })
  onTestFinished(node.stop)
  return node
}

test('a comparison finds that a channel was deleted when only its events are left', async () => {
  const topic = topics.channel(world().appId, randomUUID())
  await world().db`
    insert into events (topic, "offset", type, envelope)
    values (${topic}, 7, 'channel.deleted', '{}')`
  const log = createEventLog({
    db: world().pool,
    admit: (_, work) => work(),
    interest: { settled: () => undefined },
    metrics: createMetrics(),
  })
  expect([...(await log.findAdvanced([[topic, 6]]))]).toEqual([{ topic, lastOffset: 7 }])
  expect([...(await log.findAdvanced([[topic, 7]]))]).toEqual([])
})

test('recovery works on another node and after a restart', async () => {
  const { topic, id } = await createLively()
  const epoch = await currentEpoch()
  // Reconciliation is an hour away: what arrives was sent by the first node.
  const timings = { reconcileMs: 3_600_000 }
  const other = await createWorld({ databaseUrl: world().databaseUrl, timings })
  const raw = await connectRaw(other, ben())
  const { subscribe } = await raw.ask({
    id: 2,
    subscribe: { channel: topic, recover: true, epoch, offset: 4 },
  })
  expect(subscribe).toMatchObject({ recovered: true, offset: 4 })
  await ana().messages.send({ channelId: id, text: 'from the first node' })
  expect(
    (await raw.pushed(({ pub }) => pub?.offset === 6)).push.pub.data.payload.message.text,
  ).toBe('from the first node')
  await other.stop()
})

test('recovered events of new messages equal the published ones, whatever they have', async () => {
  const { topic, id: channelId } = await createLively()
  const live = await listen(centrifugeOf(world(), ben()), topic)
  const parent = await ana().messages.send({ channelId, text: '"reactions":[],"mentions":[],' })
  const json = '{"reactions":[],"mentions":[],"attachments":[],"parentId":null,'
  await ana().messages.send({ channelId, text: 'Hello @ben', clientId: 'a "client" id' })
  await ana().messages.send({ channelId, text: '$& $1 \u000e\u000f\n', parentId: parent.id })
  await ana().messages.send({
    channelId,
    text: '',
    silent: true,
    attachments: [{ type: 'image', url: 'https://example.com/soup.png', name: channelId }],
    custom: { json, ids: [channelId, parent.id], reactions: [], mentions: [], clientId: null },
  })
  await ana().messages.send({ channelId, text: json, quotedMessageId: parent.id })
  await world().backend.messages.send({ channelId, text: 'From the backend' })
  const published = await live.untilType('message.new', 6)
  const raw = await connected()
  const recover = { channel: topic, recover: true, epoch: await currentEpoch(), offset: 5 }
  const { subscribe } = await raw.ask({ id: 2, subscribe: recover })
  const { history } = await raw.ask({ id: 3, history: { channel: topic, limit: -1 } })
  const expected = published.map(({ offset, envelope: data }) => ({ offset, data }))
  expect(subscribe.publications).toEqual(expected)
  expect(history.publications.slice(5)).toEqual(expected)
})

test('a history counts the bytes that it sends, not those that are stored', async () => {
  const { topic, id } = await createLively()
  const { db } = world()
  // It leaves room for two of the three messages before it, but for all as they are stored.
  await db`
    insert into events (topic, "offset", type, envelope)
    values (${topic}, 6, 'typing.stop', rpad('{}', ${limits.answerBytes - 1_400}))`
  await db`update channels set rev = 6 where id = ${id}`
  const epoch = await currentEpoch()
  const raw = await connected()
  const offsetsAfter = async (offset: number) => {
    const history = { channel: topic, limit: -1, since: { offset, epoch } }
    const answer = await raw.ask({ id: offset, history })
    return answer.history.publications.map((each: { offset: number }) => each.offset)
  }
  expect(await offsetsAfter(2)).toEqual([3, 4, 5])
  expect(await offsetsAfter(4)).toEqual([5, 6])
})

test.each(framings)(
  'a client of a restarted server receives the events it missed, once and in order (%s)',
  async (framing) => {
    const { topic, id } = await createLively()
    const first = await createWorld({ databaseUrl: world().databaseUrl })
    const proxy = await openProxy(first.url)
    const client = centrifugeOf(proxy, ben(), framing)
    const listener = await listen(client, topic)
    await ana().messages.send({ channelId: id, text: 'before' })
    await listener.untilType('message.new')
    await first.stop()
    for (const text of ['meanwhile', 'and again'])
      await ana().messages.send({ channelId: id, text })
    const second = await createWorld({ databaseUrl: world().databaseUrl })
    proxy.redirect(second.url)
    await ana().messages.send({ channelId: id, text: 'after' })
    await listener.untilType('message.new', 4)
    expect(listener.received.map(({ offset }) => offset)).toEqual([6, 7, 8, 9])
    client.disconnect()
    proxy.close()
    await second.stop()
  },
)

describe('losing a right', () => {
  test('a removed member is unsubscribed with 2000 and receives nothing more', async () => {
    const { topic, id } = await createLively()
    const raw = await connected()
    await raw.ask({ id: 2, subscribe: { channel: topic } })
    await ana().members.remove({ channelId: id, userId: 'ben' })
    await ana().messages.send({ channelId: id, text: 'without ben' })
    await raw.pushed(({ unsubscribe }) => unsubscribe?.code === 2000)
    const pushes = raw.messages.flatMap(({ push }) =>
      push ? [push.pub?.data.type ?? 'unsubscribe'] : [],
    )
    expect(pushes).toEqual(['channel.member_left', 'unsubscribe'])
    expect((await raw.ask({ id: 3, subscribe: { channel: topic } })).error.code).toBe(103)
    expect(raw.frames.join()).not.toContain('without ben')
  })

  test('deleting a channel ends all its subscriptions after its last event', async () => {
    const { topic, id } = await createLively()
    const [anas, bens] = [await connected(ana()), await connected()]
    for (const raw of [anas, bens]) await raw.ask({ id: 2, subscribe: { channel: topic } })
    await ana().channels.delete({ channelId: id })
    for (const raw of [anas, bens]) {
      await raw.pushed(({ unsubscribe }) => unsubscribe?.code === 2000)
      expect(raw.messages.some(({ push }) => push?.pub?.data.type === 'channel.deleted')).toBe(true)
    }
  })

  test('revoked tokens close the sockets with 3503', async () => {
    const raw = await connected(ben(), await startReconcilingNode())
    const { db, appId } = world()
    const setGeneration = (generation: number) => db`
      update users
      set token_generation = ${generation}
      where app_id = ${appId}
        and id = 'ben'`
    await setGeneration(1)
    expect((await raw.closed).code).toBe(3503)
    await setGeneration(0)
  })
})

test('a stopping server closes its sockets with 3001 and takes no new ones', async () => {
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  const raws = await Promise.all(Array.from({ length: 5 }, () => connectRaw(other, ben())))
  const stopped = other.stop()
  expect(await Promise.all(raws.map(({ closed }) => closed))).toEqual(
    raws.map(() => ({ code: 3001, reason: 'shutdown' })),
  )
  await stopped
})

test('nodes exchange events again after the connections between them were cut', async () => {
  const { topic, id } = await createLively()
  const other = await createWorld({ databaseUrl: world().databaseUrl })
  const raw = await connected()
  await raw.ask({ id: 2, subscribe: { channel: topic } })
  const cut = await world().db`
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database()
      and (application_name = 'parley-broker' or query ilike 'listen%')`
  expect(cut.length).toBeGreaterThanOrEqual(2)
  const elsewhere = other.api({ token: ana().token })
  // Ephemeral: nothing but the broker brings it here.
  await vi.waitFor(async () => {
    await elsewhere.typing.set({ channelId: id })
    await raw.until(({ push }) => push?.pub?.data.type === 'typing.start', 200)
  }, patient)
  await other.stop()
})

test('a node that misses notifications catches up from the database by itself', async () => {
  const { topic, id } = await createLively()
  const raw = await connected(ben(), await startReconcilingNode())
  await raw.ask({ id: 2, subscribe: { channel: topic } })
  const { appId, db } = world()
  // As if written by a node that died before it could notify the others.
  await db`
    with counted as (
      update channels
      set rev = rev + 1
      where id = ${id}
      returning rev
    )
    insert into events (topic, "offset", type, envelope)
    select
      ${topics.channel(appId, id)}, rev,
      'channel.updated', '{"type":"channel.updated","payload":{}}'
    from counted`
  await raw.until(({ push }) => push?.pub?.offset === 6)
})

test('a node that missed the deletion of a channel detects it', async () => {
  const { topic, id } = await createLively()
  const raw = await connected(ben(), await startReconcilingNode())
  await raw.ask({ id: 2, subscribe: { channel: topic } })
  const { db } = world()
  const envelope = JSON.stringify({ type: 'channel.deleted', payload: { channelId: id } })
  await db.begin(async (tx) => {
    await tx`
      insert into events (topic, "offset", type, envelope)
      values (${topic}, 6, 'channel.deleted', ${envelope})`
    await tx`delete from messages where channel_id = ${id}`
    await tx`delete from members where channel_id = ${id}`
    await tx`delete from channels where id = ${id}`
  })
  await raw.until(({ push }) => push?.channel === topic && push.unsubscribe?.code === 2000)
})
