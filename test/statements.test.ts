import type { AppRouter } from '@parley/contract'
import { limits, topics } from '@parley/contract'
import { connectOnce } from '@parley/server/db/client'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { expect, test, vi } from 'vitest'
import { inBatches } from './support/batches.ts'
import { insertUsers } from './support/inserted.ts'
import { whileLocked } from './support/locks.ts'
import { quietTimings } from './support/quiet.ts'
import { RawSocket } from './support/socket.ts'
import {
  isWork,
  onStatement,
  statements,
  statementsOf,
  tripsOf,
  workOf,
} from './support/statements.ts'
import { patient } from './support/until.ts'
import { useWorld } from './support/world.ts'

// One connection: what is prepared once stays prepared.
const world = useWorld({
  onStatement,
  poolSize: 1,
  // The end of a socket in one test must not cause a statement in another.
  presenceGraceSeconds: 1_000,
  timings: quietTimings,
})

/**
 * A channel with a thread, a reaction and a pin. Every operation has been carried out once, so that
 * what happens once for a connection has happened.
 */
const lively = async (size: number) => {
  const [ana, ben] = await world().users('ana', 'ben')
  const extras = await insertUsers(world(), `extras-${size}-${Math.random()}-`, size - 2)
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Talk',
    memberIds: ['ben', ...extras],
  })
  const { id: parentId } = await ben.messages.send({ channelId, text: 'root' })
  const send = (text = 'hi') => ana.messages.send({ channelId, text })
  const fresh = async () => ({ channelId, messageId: (await send()).id })
  const operations = {
    send: () => send(),
    reply: () =>
      ana.messages.send({ channelId, text: 'reply', parentId, clientId: `${Math.random()}` }),
    page: () => ana.messages.list({ channelId }),
    'page before': () => ana.messages.list({ channelId, before: parentId }),
    thread: () => ana.messages.replies({ channelId, messageId: parentId }),
    'thread after': () => ana.messages.replies({ channelId, messageId: parentId, after: parentId }),
    message: () => ana.messages.get({ channelId, messageId: parentId }),
    channels: () => ana.channels.list({ limit: 100 }),
    channel: () => ana.channels.get({ channelId }),
    members: () => ana.members.list({ channelId }),
    receipt: () => ana.receipts.get({ channelId, messageId: parentId }),
    receipts: () => ana.receipts.query({ channelId, messageIds: [parentId] }),
    positions: () => ana.receipts.status({ channelId }),
    react: () => ana.reactions.add({ channelId, messageId: parentId, emoji: `:${Math.random()}:` }),
    read: () => ben.reads.mark({ channelId }),
    total: () => ana.reads.unreadCount(),
    pins: () => ana.pins.list({ channelId }),
    pin: () => ana.pins.pin({ channelId, messageId: parentId }),
    star: () => ana.channels.updateSettings({ channelId, starred: true }),
    rename: () => ana.channels.update({ channelId, name: `${Math.random()}` }),
  }
  const target = await fresh()
  const changes = {
    edit: () => ana.messages.edit({ ...target, text: 'edited' }),
    delete: () => ana.messages.delete(target),
    leave: () => ben.members.leave({ channelId }),
  }
  for (const operation of Object.values(operations).filter(
    (operation) => operation !== operations.pin,
  ))
    await operation()
  return { ana, channelId, operations, all: { ...operations, ...changes } }
}

test('a send takes four statements beside begin and commit, a page two at most', async () => {
  const { operations } = await lively(2)
  expect(await workOf(operations.send)).toHaveLength(4)
  expect(await workOf(operations.reply)).toHaveLength(4)
  expect(await statementsOf(operations.send)).toHaveLength(6)
  for (const read of [
    operations.page,
    operations['page before'],
    operations.message,
    operations.pins,
    operations.thread,
    operations.channel,
    operations.members,
    operations.read,
  ])
    expect(await statementsOf(read)).toHaveLength(2)
  for (const single of [operations.total, operations.channels])
    expect(await statementsOf(single)).toHaveLength(1)
  expect(await statementsOf(operations['thread after'])).toHaveLength(3)
})

test('a call that reads takes one round trip to the database', async () => {
  const { operations } = await lively(2)
  const { page, thread, message, channels, channel, members, pins } = operations
  for (const read of [
    page,
    operations['page before'],
    thread,
    operations['thread after'],
    message,
    channels,
    channel,
    members,
    pins,
    operations.receipt,
    operations.receipts,
    operations.positions,
  ])
    expect.soft(await tripsOf(read), String(read)).toHaveLength(1)
})

test('no operation takes more statements with 200 members than with 2', async () => {
  const taken = async (size: number) => {
    const { all } = await lively(size)
    const taken: Record<string, string[]> = {}
    for (const [name, operation] of Object.entries(all))
      taken[name] = (await statementsOf(operation)).sort()
    return taken
  }
  expect(await taken(200)).toEqual(await taken(2))
})

test('a list of a hundred channels takes as many statements as a list of two: one', async () => {
  const ana = await world().user('many-ana')
  const names = Array.from({ length: 100 }, (_, index) => `Many ${index}`)
  const create = (from: number, to: number) =>
    inBatches(names.slice(from, to), 20, (name) => ana.channels.create({ type: 'group', name }))
  for (const { id: channelId } of await create(0, 2))
    await ana.messages.send({ channelId, text: 'hi' })
  await create(2, 100)
  const list = () => ana.channels.list({ limit: 100 })
  expect((await list()).channels).toHaveLength(100)
  expect(await statementsOf(list)).toHaveLength(1)
})

test('a hundred messages at once share their statements, whatever their channels', async () => {
  const ana = await world().user('spreading')
  const channels = await inBatches(
    Array.from({ length: 100 }, (_, index) => `Talk ${index}`),
    20,
    (name) => ana.channels.create({ type: 'group', name }),
  )
  // The calls come in five requests, so that they are at once on a slow machine too.
  const client = createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${world().url}/trpc`,
        headers: { authorization: `Bearer ${ana.token}` },
        maxItems: 20,
      }),
    ],
  })
  const taken = await workOf(() =>
    Promise.all(
      channels.map(({ id }) => client.messages.send.mutate({ channelId: id, text: 'hi' })),
    ),
  )
  // A request makes at most two groups, of four statements each.
  expect(taken.length).toBeLessThanOrEqual(2 * 5 * 4)
})

test('a send pipelines its reads with the lock it waits for', async () => {
  const { operations, channelId } = await lively(2)
  const sent = await whileLocked(world(), channelId, async (waiting) => {
    statements.length = 0
    const sent = operations.send()
    await waiting(1)
    // The first batch does not wait. The second, of this channel alone, does.
    expect(statements.filter(isWork)).toEqual([
      expect.stringMatching(/for no key update skip locked/),
      expect.stringMatching(/last_seq/),
      expect.stringMatching(/for no key update\s*$/),
      expect.stringMatching(/last_seq/),
    ])
    return { sent }
  })
  await sent.sent
})

test('a send pipelines its writes with its events', async () => {
  const { operations } = await lively(2)
  const third = connectOnce(world().databaseUrl)
  try {
    const { sent } = await third.begin(async (sql) => {
      await sql`lock table messages in share mode`
      statements.length = 0
      const sent = operations.send()
      await vi.waitFor(() => expect(statements.filter(isWork)).toHaveLength(4), patient)
      return { sent }
    })
    await sent
  } finally {
    await third.end()
  }
})

test('a frame with hundreds of subscribes takes one statement', async () => {
  const ana = await world().user('framed')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const chat = (id: string) => topics.channel(world().appId, id)
  const wanted = [
    chat(channelId),
    topics.user(world().appId, ana.id),
    topics.user(world().appId, 'another-user'),
  ]
  for (let n = wanted.length; n < limits.realtime.topicsPerSocket; n++)
    wanted.push(chat(`019c9b1e-7a52-7cc1-8f0e-${String(n).padStart(12, '0')}`))
  statements.length = 0
  const raw = await RawSocket.connect(world(), ana)
  // Its presence is announced in the background: the last statement reads to whom.
  const readsRecipients = (statement: string) => /\bshared as materialized\b/.test(statement)
  await vi.waitUntil(() => statements.some(readsRecipients), patient)
  const taken = await statementsOf(async () => {
    raw.send(
      ...wanted.map((channel, index) => ({
        id: index + 2,
        subscribe: { channel, recover: index === 0 },
      })),
    )
    await raw.reply(wanted.length + 1)
  })
  expect(taken).toEqual([expect.stringMatching(/with ordinality as \w+ \(\s*topic/)])
  expect(raw.messages.flatMap(({ id, subscribe }) => (subscribe ? [id] : []))).toEqual([2, 3])
  raw.socket.terminate()
})
