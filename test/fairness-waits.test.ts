import { topics } from '@parley/contract'
import type { Tx } from '@parley/server/db/client'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from './support/events.ts'
import { whileLocked, whileRowLocked, withoutCleanup } from './support/locks.ts'
import { callsQueued, later } from './support/queued-calls.ts'
import { RawSocket, useSockets } from './support/socket.ts'
import { patient } from './support/until.ts'
import { createWorld, type User, useWorld } from './support/world.ts'

// An app uses two of these connections at most, and a user one.
const world = useWorld({ poolSize: 4 })
const terminatedLater = useSockets()
let ana: User
let ben: User
beforeAll(async () => {
  ;[ana, ben] = await world().users('ana', 'ben')
})

const createChannel = async (...memberIds: string[]) => {
  const { id } = await ana.channels.create({ type: 'group', name: 'Talk', memberIds })
  return id
}
const queued = (count: number) => callsQueued(world(), count)
/** How many copies of channel events are being made. */
const copying = async () => {
  const waiting = await world().db`
    select
    from pg_stat_activity
    where datname = current_database()
      and wait_event = 'relation'
      and query like '%recipients.user_ids%'`
  return waiting.length
}

test('messages to a locked channel do not wait behind calls of their first author', async () => {
  const [held, common] = [await createChannel(), await createChannel('ben')]
  const { promises } = await whileLocked(world(), held, async (locked) => {
    // This call takes the only place of the user.
    const stuck = ana.channels.update({ channelId: held, name: 'Renamed' })
    await locked(1)
    const sends = await whileLocked(world(), common, async () => {
      const first = ana.messages.send({ channelId: common, text: 'first' })
      const second = ben.messages.send({ channelId: common, text: 'second' })
      // Their batch waits for the channel, not for the call.
      await locked(2)
      return later(first, second)
    })
    await Promise.all(sends.promises)
    await locked(1)
    return later(stuck)
  })
  await Promise.all(promises)
})

test('a queued history has no event from after its access check', async () => {
  const { id: held } = await ben.channels.create({ type: 'group', name: 'Own' })
  const common = await createChannel('ben')
  const raw = await terminatedLater(RawSocket.connect(world(), ben))
  const { promises } = await whileLocked(world(), held, async (locked) => {
    // This call takes the only place of the user.
    const stuck = ben.channels.update({ channelId: held, name: 'Renamed' })
    await locked(1)
    raw.send({ id: 2, history: { channel: topics.channel(world().appId, common), limit: -1 } })
    await queued(1)
    await ana.members.remove({ channelId: common, userId: 'ben' })
    await ana.messages.send({ channelId: common, text: 'among us' })
    return later(stuck)
  })
  await Promise.all(promises)
  const { history } = await raw.reply(2)
  expect(JSON.stringify(history.publications)).not.toContain('among us')
  expect(history.publications.at(-1).offset).toBe(history.offset)
})

test('copying many changed channels does not delay calls of other apps', async () => {
  const channelIds = await Promise.all(upTo(4).map(() => createChannel()))
  await terminatedLater(RawSocket.connect(world(), ana))
  const eve = await world().user('eve', {}, await world().stranger())
  // Copies read who is connected; the calls themselves do not.
  const lock = (sql: Tx) => sql`lock table connections in access exclusive mode`
  await whileRowLocked(world(), lock, async () => {
    for (const channelId of channelIds) await ana.channels.update({ channelId, name: 'Renamed' })
    await vi.waitFor(async () => expect(await copying()).toBeGreaterThan(0), patient)
    await eve.channels.list()
    expect(await copying()).toBe(1)
  })
})

test('token requests that wait for an erasure leave others half of the pool', async () => {
  const eve = await world().user('eve', {}, await world().stranger())
  const { id: elsewhere } = await eve.channels.create({ type: 'group', name: 'Other' })
  const gone = await world().user('gone')
  const channelId = await createChannel('gone')
  await gone.messages.send({ channelId, text: 'hi' })
  const { promises } = await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: 'gone' })
    return whileLocked(world(), channelId, async (locked) => {
      const mints = upTo(6).map(() => world().backend.tokens.create({ userId: 'gone' }))
      await locked(2)
      await queued(4)
      await eve.messages.send({ channelId: elsewhere, text: 'hi' })
      await locked(2)
      return later(...mints)
    })
  })
  await Promise.all(promises)
})

test('a node writes its heartbeats while every connection of its pool is taken', async () => {
  const { db, pool, stop } = await createWorld({ poolSize: 2, timings: { beatMs: 100 } })
  onTestFinished(stop)
  const beats = () => db`select id, beat_at::text from nodes order by id`
  let begun = 0
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const work = async () => {
    begun += 1
    await ended
  }
  onTestFinished(end)
  const taken = Array.from({ length: pool.poolSize }, () => pool.use(work))
  await vi.waitFor(() => expect(begun).toBe(pool.poolSize), patient)
  // One that has begun may end.
  for (const _ of ['first', 'second']) {
    const before = await beats()
    await vi.waitFor(async () => expect(await beats()).not.toEqual(before), patient)
  }
  end()
  await Promise.all(taken)
})
