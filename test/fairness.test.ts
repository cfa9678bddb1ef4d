import { limits, topics } from '@parley/contract'
import { beforeAll, expect, test, vi } from 'vitest'
import { channelEventsOf } from './support/events.ts'
import { whileLocked } from './support/locks.ts'
import { medianMs } from './support/median-ms.ts'
import { callsQueued, later } from './support/queued-calls.ts'
import { post } from './support/raw.ts'
import { slowness } from './support/slowness.ts'
import { RawSocket, useSockets } from './support/socket.ts'
import { patient } from './support/until.ts'
import { type User, useWorld } from './support/world.ts'

// An app uses two of these connections at most, and a user one.
const world = useWorld({ poolSize: 4 })
const { callsAtOnce, callsPerBatch } = limits
const terminatedLater = useSockets()
let ana: User
let ben: User
let cleo: User
/** A user of another app. */
let eve: User
beforeAll(async () => {
  ;[ana, ben, cleo] = await world().users('ana', 'ben', 'cleo', 'dan')
  eve = await world().user('eve', {}, await world().stranger())
})

const createChannel = async (owner: User, ...memberIds: string[]) => {
  const { id } = await owner.channels.create({ type: 'group', name: 'Talk', memberIds })
  return id
}
/** A call that waits in the database while its channel is locked. */
const rename = (user: User, channelId: string, name = 'Renamed') =>
  user.channels.update({ channelId, name })
const queued = (count: number) => callsQueued(world(), count)
const health = async () => (await post(world().url, '/health', { method: 'GET' })).status
const healthMs = () => medianMs(async () => expect(await health()).toBe(200))
const bearer = ({ token }: User) => ({ Authorization: `Bearer ${token}` })

test('a tenant whose every call waits in the database leaves others half of the pool', async () => {
  const channelId = await createChannel(ana, 'ben', 'cleo')
  const elsewhere = await createChannel(eve)
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const users = [ana, ben, cleo, ana, ben, cleo]
    const sends = users.map((user) => user.messages.send({ channelId, text: 'hi' }))
    const additions = users.map((user) => user.members.add({ channelId, userIds: ['dan'] }))
    await locked(2)
    await eve.channels.list()
    await eve.messages.send({ channelId: elsewhere, text: 'hi' })
    const socket = await terminatedLater(RawSocket.connect(world(), eve))
    const channel = topics.channel(eve.minted.appId, elsewhere)
    expect(await socket.ask({ id: 2, subscribe: { channel } })).toHaveProperty('subscribe')
    expect(await socket.ask({ id: 3, history: { channel, limit: 1 } })).toHaveProperty('history')
    await locked(2)
    return later<unknown>(...sends, ...additions)
  })
  await Promise.all(promises)
  await queued(0)
})

test('a user whose every call waits leaves the other connections of the app free', async () => {
  const channelId = await createChannel(ana)
  const common = await createChannel(ana, 'ben')
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const calls = [1, 2, 3].map((count) => rename(ana, channelId, `Talk ${count}`))
    await locked(1)
    await queued(2)
    await ben.channels.list()
    await ben.messages.send({ channelId: common, text: 'hi' })
    await world().backend.users.get({ userId: 'ana' })
    await locked(1)
    return later(...calls)
  })
  await Promise.all(promises)
})

test('calls that a backend makes as a user take no place of that user', async () => {
  const channelId = await createChannel(ana)
  const backend = world().api({ apiKey: world().apiKey, userId: 'ana' })
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const call = backend.channels.update({ channelId, name: 'By the backend' })
    await locked(1)
    await ana.channels.list()
    await locked(1)
    return later(call)
  })
  await Promise.all(promises)
})

test('health answers while the node waits for its own work in the database', async () => {
  let done = () => {}
  const work = new Promise<void>((resolve) => {
    done = resolve
  })
  let isHeld = true
  const held = world()
    .pool.useApart(() => work)
    .finally(() => {
      isHeld = false
    })
  expect(await Promise.all([health(), health(), health()])).toEqual([200, 200, 200])
  expect(isHeld).toBe(true)
  done()
  await held
})

test('health answers in 100 ms while every connection of the pool is taken', async () => {
  // The times before and after show whether the machine is slow at the moment.
  const before = await healthMs()
  const ours = await createChannel(ana, 'ben')
  const theirs = await createChannel(eve)
  const { promises, meanwhile } = await whileLocked(world(), ours, () =>
    whileLocked(world(), theirs, async (locked) => {
      const calls = [rename(ana, ours), ben.messages.send({ channelId: ours, text: 'hi' })]
      const work = world().pool.use(
        (db) => db`
          select
          from channels
          where id = ${ours}
          for share`,
      )
      const others = [rename(eve, theirs), work]
      await locked(4)
      const waiting = world().pool.use((db) => db`select`)
      await vi.waitFor(() => expect(world().pool.waiting()).toBeGreaterThan(0), patient)
      expect(await Promise.all([health(), health(), health()])).toEqual([200, 200, 200])
      const meanwhile = await healthMs()
      return { promises: [...calls, ...others, waiting], meanwhile }
    }),
  )
  await Promise.all(promises)
  expect(meanwhile).toBeLessThan(Math.max(100 * slowness, 5 * before, 5 * (await healthMs())))
})

test("a user's calls that wait are carried out in their order", async () => {
  const channelId = await createChannel(ana)
  const names = ['first', 'second', 'third', 'fourth']
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const calls = []
    for (const [index, name] of names.entries()) {
      calls.push(rename(ana, channelId, name))
      await (index === 0 ? locked(1) : queued(index))
    }
    return later(...calls)
  })
  await Promise.all(promises)
  const events = await channelEventsOf(world(), channelId)
  const renamings = events.filter(({ type }) => type === 'channel.updated')
  expect(renamings.map(({ payload }) => payload.channel)).toMatchObject(
    names.map((name) => ({ name })),
  )
})

test('a call whose caller went away leaves the queue and does nothing', async () => {
  const channelId = await createChannel(ana)
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const first = rename(ana, channelId, 'first')
    await locked(1)
    const caller = new AbortController()
    const gone = fetch(`${world().url}/api/channels/${channelId}`, {
      method: 'PATCH',
      headers: { ...bearer(ana), 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'gone' }),
      signal: caller.signal,
    })
    await queued(1)
    const last = rename(ana, channelId, 'last')
    await queued(2)
    caller.abort()
    await expect(gone).rejects.toThrow()
    await queued(1)
    return later(first, last)
  })
  await Promise.all(promises)
  const { messages } = await ana.messages.list({ channelId })
  expect(messages).toEqual([])
  expect(await ana.channels.get({ channelId })).toMatchObject({ name: 'last', rev: 3 })
})

test("a user's messages do not wait behind their calls", async () => {
  const [held, free] = [await createChannel(ana), await createChannel(ana)]
  const { promises } = await whileLocked(world(), held, async (locked) => {
    const calls = [rename(ana, held), rename(ana, free)]
    await locked(1)
    await queued(1)
    await ana.messages.send({ channelId: free, text: 'hi' })
    await queued(1)
    return later(...calls)
  })
  await Promise.all(promises)
})

test('messages are accepted while the queue of their app is full', async () => {
  // Their token is looked up first, like that of anybody who has made no call for a while.
  const fay = await world().user('fay')
  const [held, free] = [await createChannel(ana), await createChannel(ben, 'fay')]
  const { apiKey, backend, url } = world()
  const procedures = Array.from({ length: callsPerBatch }, () => 'channels.list')
  const path = `/trpc/${procedures.join()}?batch=1`
  const headers = { 'X-API-Key': apiKey }
  const callers = new AbortController()
  const { signal } = callers
  const { promises } = await whileLocked(world(), held, async (locked) => {
    const calls = [rename(ana, held), backend.channels.update({ channelId: held, name: 'Ours' })]
    await locked(2)
    const batches = Array.from({ length: callsAtOnce.appWaiting / callsPerBatch }, () =>
      fetch(`${url}${path}`, { headers, signal }).catch(() => {}),
    )
    await queued(callsAtOnce.appWaiting)
    expect(await post(url, '/api/channels', { method: 'GET', headers })).toMatchObject({
      status: 503,
    })
    const sent = fay.messages.send({ channelId: free, text: 'hi' })
    await queued(callsAtOnce.appWaiting + 1)
    callers.abort()
    await queued(1)
    return later<unknown>(...calls, ...batches, sent)
  })
  await Promise.all(promises)
})

test('a full queue refuses only its own user', async () => {
  const channelId = await createChannel(ana, 'ben')
  const channel = topics.channel(world().appId, channelId)
  const socket = await terminatedLater(RawSocket.connect(world(), ana))
  const requests = callsAtOnce.userWaiting / callsPerBatch
  const procedures = Array.from({ length: callsPerBatch }, () => 'channels.list')
  const path = `/trpc/${procedures.join()}?batch=1`
  const { promises } = await whileLocked(world(), channelId, async (locked) => {
    const first = rename(ana, channelId)
    await locked(1)
    const batches = Array.from({ length: requests }, () =>
      post(world().url, path, { method: 'GET', headers: bearer(ana) }),
    )
    await queued(callsAtOnce.userWaiting)
    const refused = await post(world().url, '/api/channels', {
      method: 'GET',
      headers: bearer(ana),
    })
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(await socket.ask({ id: 2, history: { channel, limit: 1 } })).toMatchObject({
      error: { code: 111, temporary: true },
    })
    expect(await socket.ask({ id: 3, subscribe: { channel } })).toHaveProperty('subscribe')
    await ben.channels.list()
    return later<unknown>(first, ...batches)
  })
  const answers = await Promise.all(promises)
  expect(answers).toHaveLength(1 + requests)
  await ana.channels.list()
})
