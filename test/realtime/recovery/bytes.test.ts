import { limits } from '@parley/contract'
import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import { createEventLog } from '@parley/server/realtime/event-log'
import { selectGrants } from '@parley/server/realtime/grants'
import { expect, test } from 'vitest'
import { stopClock } from '../../support/clock.ts'
import { centrifugeOf, listen } from '../../support/realtime.ts'
import { useWorld } from '../../support/world.ts'
import { useRecovery } from './fixture.ts'

const world = useWorld({ timings: { reconcileMs: 300, beatMs: 300 } })
const { ana, connected, createLively, currentEpoch } = useRecovery(world)

/** A topic of five events and then 25 of 100,000 bytes each. */
async function createHeavy(count = 25) {
  const lively = await createLively()
  await append(lively, count)
  return lively
}

async function append({ id, topic }: { id: string; topic: string }, count: number) {
  const { db } = world()
  await db`
    insert into events (topic, "offset", type, envelope)
    select ${topic}, c.rev + n, 'typing.stop', rpad('{"type":"typing.stop"}', 100000)
    from channels c, generate_series(1, ${count}) n
    where c.id = ${id}`
  await db`update channels set rev = rev + ${count} where id = ${id}`
}

test('a history has at most a megabyte, and continues after its last event', async () => {
  const { topic } = await createHeavy()
  const [raw, epoch] = [await connected(), await currentEpoch()]
  const pages: number[][] = []
  for (let offset = 0; offset < 30; ) {
    const since = { offset, epoch }
    const { history } = await raw.ask({
      id: 2 + pages.length,
      history: { channel: topic, limit: -1, since },
    })
    pages.push(history.publications.map((each: { offset: number }) => each.offset))
    offset = pages.at(-1)?.at(-1) ?? 30
  }
  expect(pages.map(({ length }) => length)).toEqual([15, 10, 5])
  expect(pages.flat()).toEqual(listOf(1, 30))
})

test('a frame recovers at most a megabyte: topics beyond that have to be loaded', async () => {
  const heavy = [await createHeavy(6), await createHeavy(6), await createHeavy(4)]
  const [raw, epoch] = [await connected(), await currentEpoch()]
  const subscribes = heavy.map(({ topic: channel }, index) => ({
    id: index + 2,
    subscribe: { channel, recover: true, epoch, offset: 5 },
  }))
  raw.send(...subscribes)
  const replies = await Promise.all(subscribes.map(({ id }) => raw.reply(id)))
  expect(
    replies.map(({ subscribe: { recovered = false, publications = [], offset } }) => [
      recovered,
      publications.length,
      offset,
    ]),
  ).toEqual([
    [true, 6, 5],
    [false, 0, 11],
    [false, 0, 9],
  ])
})

test('clients that missed much recover all of it, whoever comes back with them', async () => {
  const { topic } = await createHeavy(9)
  const [sockets, epoch] = [25, await currentEpoch()]
  const since = { recover: true, epoch, offset: 5 }
  const raws = await Promise.all(Array.from({ length: sockets }, () => connected()))
  const replies = raws.map((raw) => raw.ask({ id: 2, subscribe: { channel: topic, ...since } }))
  for (const { subscribe } of await Promise.all(replies))
    expect(subscribe).toMatchObject({ recovered: true, publications: { length: 9 } })
})

test('frames that missed more than a statement reads wait, but never the first', async () => {
  const { topic } = await createHeavy(9)
  const request = { appId: world().appId, userId: 'ana', topic, since: 5 }
  const frames = Array.from({ length: 24 }, () => [request])
  const metrics = createMetrics()
  const readBy = async (db: Db) => {
    const interest = { settled: () => undefined }
    const log = createEventLog({ db, admit: (_, work) => work(), interest, metrics })
    const settled = await Promise.allSettled(frames.map((frame) => log.authorise(frame)))
    return settled.map((each) =>
      each.status === 'fulfilled' ? each.value[0]?.missed.length : each.reason.name,
    )
  }
  const { pool } = world()
  expect(await readBy(pool)).toEqual(Array(24).fill(9))
  // Nothing is postponed for a call that has no time left.
  const hurried: Db = {
    ...pool,
    use: (work) => pool.use(work),
    newDeadline: () => performance.now(),
  }
  expect(await readBy(hurried)).toEqual([...Array(23).fill(9), 'AdmissionError'])
  const refused = (await metrics.callsRefused.get()).values
  expect(refused.filter(({ value }) => value > 0)).toEqual([
    { labels: { reason: 'late' }, value: 1 },
  ])
})

test('subscribes whose sockets closed while they waited are in no statement', async () => {
  const { topic } = await createHeavy(1)
  const { id: userId } = await ana()
  const request = { appId: world().appId, userId, topic, since: null }
  const { pool } = world()
  let statements = 0
  const use: Db['use'] = (work) => {
    statements += 1
    return pool.use(work)
  }
  const log = createEventLog({
    db: { ...pool, use },
    admit: (_, work) => work(),
    interest: { settled: () => undefined },
    metrics: createMetrics(),
  })
  let isGone = false
  const gone = () => log.authorise([request, request], () => isGone)
  const waiting = [gone(), log.authorise([request]), gone()]
  isGone = true
  const granted = await Promise.all(waiting)
  expect(granted).toEqual([[null, null], [expect.objectContaining({ missed: [] })], [null, null]])
  expect(await gone()).toEqual([null, null])
  expect(statements).toBe(1)
})

test('frames for which nothing is read neither wait nor make others wait', async () => {
  const { topic } = await createHeavy(9)
  const far = await createLively()
  await world().db`update channels set rev = 6000 where id = ${far.id}`
  const large = await createHeavy(11)
  await world().db`update channels set rev = 5000 where id = ${large.id}`
  await world().users('cleo')
  const request = { appId: world().appId, userId: 'ana', topic, since: 5 }
  const ends = [
    { ...request, since: 14 },
    { ...request, topic: far.topic },
  ]
  const frames = [
    ...Array.from({ length: 25 }, () => [{ ...request, topic: far.topic }]),
    ...Array.from({ length: 25 }, () => [{ ...request, userId: 'cleo' }]),
    ...Array.from({ length: 25 }, () => [{ ...request, topic: large.topic }]),
    // The first of these is answered as far as a frame may be.
    ...Array.from({ length: 24 }, () => [request, { ...request, since: 4 }]),
    ...ends.map((each) => [each]),
  ]
  const grants = await world().pool.use((db) => selectGrants(db, frames))
  const outcomes = grants.map((grant) =>
    grant === 'postponed' ? grant : grant.map((topic) => topic?.missed.length ?? null),
  )
  expect(outcomes).toEqual([
    ...Array(25).fill([0]),
    ...Array(25).fill([null]),
    ...Array(25).fill([0]),
    ...Array(23).fill([9, 0]),
    'postponed',
    [0],
    [0],
  ])
})

test('the bytes that a socket recovers in a second are limited, in any frames', async () => {
  const { topic: channel } = await createHeavy(9)
  const [raw, epoch] = [await connected(), await currentEpoch()]
  const { burstBytes, bytesPerSecond } = limits.realtime.recoveries
  const began = performance.now()
  let id = 2
  const recover = async (offset: number) => {
    const request = { channel, recover: true, epoch, offset }
    const { subscribe } = await raw.ask({ id: id++, subscribe: request })
    await raw.ask({ id: id++, unsubscribe: { channel } })
    return subscribe.recovered === true
  }
  let bytes = 0
  while (bytes < 100_000_000 && (await recover(5))) bytes += 900_000
  const earned = ((performance.now() - began) / 1_000) * bytesPerSecond
  expect(bytes).toBeGreaterThanOrEqual(burstBytes)
  expect(bytes).toBeLessThan(burstBytes + earned + 900_000)
  // A socket that has missed nothing has nothing to load.
  expect(await recover(14)).toBe(true)
})

test('missed events use up the recoveries of a socket, whether sent or too many', async () => {
  const [large, small] = [await createHeavy(25), await createHeavy(1)]
  const [raw, epoch] = [await connected(), await currentEpoch()]
  const { burstBytes } = limits.realtime.recoveries
  // Nothing is earned meanwhile, however slow the machine is.
  stopClock()
  let id = 2
  const recover = async ({ topic: channel }: typeof large) => {
    const { subscribe } = await raw.ask({
      id: id++,
      subscribe: { channel, recover: true, epoch, offset: 5 },
    })
    await raw.ask({ id: id++, unsubscribe: { channel } })
    return subscribe.recovered === true
  }
  let bytes = 0
  while (bytes < 100_000_000 && (await recover(small))) {
    expect(await recover(large)).toBe(false)
    // A backlog that is too large is measured up to the first event beyond a megabyte.
    bytes += 100_000 + 1_100_000
  }
  expect(bytes).toBeGreaterThanOrEqual(burstBytes)
  expect(bytes).toBeLessThan(burstBytes + 1_200_000)
})

test('a read of gaps has at most a megabyte, and goes on until all are filled', async () => {
  const heavy = [await createHeavy(), await createHeavy()]
  const interest = { settled: () => undefined }
  const log = createEventLog({
    db: world().pool,
    admit: (_, work) => work(),
    interest,
    metrics: createMetrics(),
  })
  const positions = heavy.map(({ topic }): [string, number] => [topic, 5])
  const { publications, isCut } = await log.readAfter(positions)
  expect(publications.map(({ offset }) => offset)).toEqual(listOf(6, 16))
  expect(isCut).toBe(true)
  // Copies of a new message, which is stored in short form.
  const { id: channelId, topic } = await createLively()
  await ana().messages.send({ channelId, text: 'soup '.repeat(400) })
  await world().db`
    insert into events (topic, "offset", type, envelope, message_id)
    select topic, "offset" + n, type, envelope, message_id
    from events, generate_series(1, 480) n
    where topic = ${topic} and "offset" = 6`
  const [many, few] = [await log.readAfter([[topic, 5]]), await log.readAfter([[topic, 475]])]
  expect([many.isCut, few.isCut, few.publications.length]).toEqual([true, false, 11])
  const client = centrifugeOf(world(), ana())
  const listeners = await Promise.all(heavy.map(({ topic }) => listen(client, topic)))
  for (const each of heavy) await append(each, 15)
  await Promise.all(listeners.map((each) => each.until(({ length }) => length === 15)))
  client.disconnect()
  for (const { received } of listeners)
    expect(received.map(({ offset }) => offset)).toEqual(listOf(31, 45))
  expect(limits.answerBytes).toBe(1_048_576)
})

const listOf = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)
