import { connectOnce } from '@parley/server/db/client'
import { snapshotNumber } from '@parley/server/db/sql'
import fc from 'fast-check'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { useWorld } from './support/world.ts'

// Versions of totals of unread messages are numbers of snapshots of the database.

const world = useWorld()
beforeAll(async () => {
  await world().db`create table seen (n int not null)`
})

type Seen = { number: number; rows: number[] }
async function look(): Promise<Seen> {
  const { db } = world()
  const [seen] = await db<Seen[]>`
    select ${snapshotNumber(db)} as number, array(select n from seen order by n) as rows`
  if (!seen) throw new Error('an aggregate has one row')
  return seen
}

/** Connections that write, each in transactions of its own. */
async function openWriters(count: number) {
  const pools = Array.from({ length: count }, () => connectOnce(world().databaseUrl))
  const writers = await Promise.all(pools.map((pool) => pool.reserve()))
  onTestFinished(async () => {
    for (const writer of writers) writer.release()
    for (const pool of pools) await pool.end({ timeout: 0 })
  })
  return writers
}
type Writer = Awaited<ReturnType<typeof openWriters>>[number]

let rows = 0
const write = (writer: Writer) => writer`insert into seen values (${++rows})`
/** Kinds of writes. Each savepoint takes a number of its own, also one that is undone. */
const works = {
  write,
  save: async (writer: Writer) => {
    await writer`savepoint kept`
    await write(writer)
  },
  undo: async (writer: Writer) => {
    await writer`savepoint undone`
    await write(writer)
    await writer`rollback to undone`
  },
}
const step = fc.record({
  writer: fc.nat(4),
  what: fc.constantFrom('write', 'save', 'undo', 'commit', 'commit', 'rollback'),
})

test('a later snapshot has no lower number, and the same number sees the same rows', async () => {
  const writers = await openWriters(5)
  const open = new Set<Writer>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      let last = await look()
      for (const { writer: index, what } of steps) {
        const writer = writers[index] as Writer // there are five
        if (what === 'commit' || what === 'rollback') {
          if (open.delete(writer)) await writer.unsafe(what)
        } else {
          if (!open.has(writer)) await writer`begin`
          open.add(writer)
          await works[what](writer)
        }
        const seen = await look()
        expect(seen.number).toBeGreaterThanOrEqual(last.number)
        if (seen.number === last.number) expect(seen.rows).toEqual(last.rows)
        expect(Number.isSafeInteger(seen.number)).toBe(true)
        last = seen
      }
      for (const writer of open) await writer`commit`
      open.clear()
    }),
    { numRuns: 10, endOnFailure: true },
  )
})

test('a change of a transaction older than one that has ended raises the number', async () => {
  const [older, newer] = (await openWriters(2)) as [Writer, Writer]
  const numbers = [(await look()).number]
  for (const writer of [older, newer]) {
    await writer`begin`
    await write(writer)
  }
  for (const writer of [newer, older]) {
    await writer`commit`
    numbers.push((await look()).number)
  }
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
})

test('the end of an older transaction gives the unread total a higher version', async () => {
  const [ana, ben] = await world().users('open-ana', 'open-ben')
  const channels = ['One', 'Two'].map((name) =>
    ana.channels.create({ type: 'group', name, memberIds: [ben.id] }),
  )
  const [one, two] = (await Promise.all(channels)).map(({ id }) => id) as [string, string]
  await ana.messages.send({ channelId: one, text: 'unread' })
  const [older] = (await openWriters(1)) as [Writer]
  await older`begin`
  // Another server marks the channel as read, and has not committed yet.
  await older`
    update members
    set unread_after_seq = 1
    where channel_id = ${one}
      and user_id = ${ben.id}`
  const before = await ben.reads.unreadCount()
  await ana.messages.send({ channelId: two, text: 'newer' })
  const amid = await ben.reads.unreadCount()
  await older`commit`
  const after = await ben.reads.unreadCount()
  expect([before.count, amid.count, after.count]).toEqual([1, 2, 1])
  expect(amid.version).toBeGreaterThan(before.version)
  expect(after.version).toBeGreaterThan(amid.version)
})
