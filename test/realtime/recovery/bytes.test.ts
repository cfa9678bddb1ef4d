import { limits } from '@parley/contract'
import { createEventLog } from '@parley/server/realtime/event-log'
import { expect, test } from 'vitest'
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

test('a read of gaps has at most a megabyte, and goes on until all are filled', async () => {
  const heavy = [await createHeavy(), await createHeavy()]
  const interest = { settled: () => undefined }
  const log = createEventLog({ db: world().pool, admit: (_, work) => work(), interest })
  const positions = heavy.map(({ topic }): [string, number] => [topic, 5])
  const rows = await log.readAfter(positions)
  expect(rows.map(({ offset }) => offset)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
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
