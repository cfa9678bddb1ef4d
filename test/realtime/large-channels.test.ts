import { limits } from '@parley/contract'
import { timings as defaults } from '@parley/server/realtime/timings'
import { expect, test } from 'vitest'
import { insertUsers } from '../support/inserted.ts'
import { withoutCleanup } from '../support/locks.ts'
import type { TopicListener } from '../support/realtime.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { type User, useWorld } from '../support/world.ts'
import { counts, createGroup, payloads, useListeners } from './listeners.ts'

// Events come from the changes alone: comparisons, which may send counts again, are put off.
const never = 1_000_000
const { coMembersPauseMs } = defaults
const timings = { typingMs: never, reconcileMs: never, coMembersPauseMs }
let coMemberReads = 0
const world = useWorld({
  presenceGraceSeconds: 0,
  timings,
  onStatement: (statement) => {
    if (/from recipients|recipients\.user_ids/.test(statement)) coMemberReads += 1
  },
})
const { connect, listenAs, channelTopic, userTopic, newUsers } = useListeners(world)

const terminatedLater = useSockets()

const types = ['group', 'public', 'livestream'] as const

/** A channel of these two that has one member less than a large one, and the id of one more. */
async function createAlmostLarge(type: (typeof types)[number]) {
  const [ana, ben] = await newUsers()
  const { id: channelId } = await ana.channels.create({ type, name: 'Show' })
  const extras = await insertUsers(world(), `${ana.id}-`, limits.largeChannelMembers - 1)
  const [last = '', ...others] = extras
  await ana.members.add({ channelId, userIds: [ben.id, ...others] })
  expect((await ana.channels.get({ channelId })).memberCount).toBe(100)
  const addLast = () => ana.members.add({ channelId, userIds: [last] })
  return { ana, ben, channelId, addLast }
}

test.for(types)('in a %s of 101 members typing and reads are not sent to others', async (type) => {
  const { ana, ben, channelId, addLast } = await createAlmostLarge(type)
  const [anas, bens] = [
    await listenAs(ana, channelTopic(channelId)),
    await listenAs(ben, channelTopic(channelId)),
  ]
  const { id: messageId } = await ana.messages.send({ channelId, text: 'before' })
  await ben.typing.set({ channelId })
  await ben.typing.set({ channelId, typing: false })
  await ben.reads.mark({ channelId })
  await ben.receipts.mark({ channelId, messageId })
  await anas.untilType('read_receipt')
  const typed = ['typing.start', 'typing.stop']
  const read = ['read.updated', 'read.updated', 'read_receipt']
  const small = ['message.new', ...typed, ...read]
  expect(anas.types).toEqual(small)

  await addLast()
  await ben.typing.set({ channelId })
  await ben.typing.set({ channelId, typing: false })
  const { id: latest } = await ana.messages.send({ channelId, text: 'large now' })
  await ben.reads.mark({ channelId })
  await ben.receipts.mark({ channelId, messageId: latest })
  await ana.messages.send({ channelId, text: 'after' })
  await Promise.all([anas.untilType('message.new', 3), bens.untilType('message.new', 3)])
  const [joined, sent] = ['channel.member_joined', 'message.new']
  expect(anas.types).toEqual([...small, joined, sent, sent])
  expect(bens.types).toEqual([...small, joined, sent, ...read, sent])
  expect(payloads(bens, 'read.updated').at(-1)).toMatchObject({ userId: ben.id, lastReadSeq: 2 })
  const { readBy, readCount } = await ana.receipts.get({ channelId, messageId: latest })
  expect([readBy.map(({ userId }) => userId), readCount]).toEqual([[ben.id], 1])
})

test.for(types)(
  'a %s of 100 members makes them co-members, and one of 101 does not',
  async (type) => {
    const { ana, ben, addLast } = await createAlmostLarge(type)
    const anas = await listenAs(ana, userTopic(ana))
    const [eve] = await newUsers()
    await createGroup(ana, eve)
    const about = (id: string) =>
      anas.received.flatMap(({ envelope }) => {
        if (envelope.type === 'user.updated')
          return envelope.payload.user.id === id ? [envelope.type] : []
        const isPresence = envelope.type.startsWith('presence.')
        const concerned = isPresence && 'userId' in envelope.payload && envelope.payload.userId
        return concerned === id ? [envelope.type] : []
      })
    const comeAndGo = async (user: User, name: string) => {
      const client = connect(user)
      await client.ready()
      await world().user(user.id, { name })
      client.disconnect()
    }
    const all = ['presence.online', 'user.updated', 'presence.offline']
    await comeAndGo(ben, 'Benedict')
    await anas.until(() => about(ben.id).length === 3)
    expect(about(ben.id)).toEqual(all)
    await addLast()
    await comeAndGo(ben, 'Benjamin')
    await comeAndGo(eve, 'Evelyn')
    await anas.until(() => about(eve.id).length === 3)
    expect(about(ben.id)).toEqual(all)
  },
)

/** The names of others that a user received. */
const namesReceivedBy = ({ received }: TopicListener) =>
  received.flatMap(({ envelope: { type, payload } }) =>
    type === 'user.updated' ? [payload.user.name] : [],
  )

test('changes of a user read their co-members once a second, and none is lost', async () => {
  const [ana, ben] = await newUsers()
  await createGroup(ana, ben)
  const bens = await listenAs(ben, userTopic(ben))
  const names = Array.from({ length: 20 }, (_, index) => `Ana ${index}`)
  const [readsBefore, startedAt] = [coMemberReads, performance.now()]
  for (const name of names) await world().user(ana.id, { name })
  await bens.until(() => namesReceivedBy(bens).includes('Ana 19'))
  const seconds = (performance.now() - startedAt) / 1_000
  expect(namesReceivedBy(bens)).toEqual(names)
  expect(coMemberReads - readsBefore).toBeLessThanOrEqual(3 + seconds)
})

test('users who share only a deleted channel are sent no changes of each other', async () => {
  const [ana, ben] = await newUsers()
  const channelId = await createGroup(ana, ben)
  const [anas, bens] = [await listenAs(ana, userTopic(ana)), await listenAs(ben, userTopic(ben))]
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId })
    await bens.untilType('channel.deleted')
    await world().user(ana.id, { name: 'Anabel' })
    await anas.until(() => namesReceivedBy(anas).includes('Anabel'))
    await world().user(ben.id, { name: 'Benjamin' })
    await bens.until(() => namesReceivedBy(bens).includes('Benjamin'))
  })
  expect(namesReceivedBy(bens)).toEqual(['Benjamin'])
})

test('a user who joins between two changes in a second is sent the second one', async () => {
  const [ana, ben] = await newUsers()
  const [eve] = await newUsers()
  await createGroup(ana, ben)
  const [bens, eves] = [await listenAs(ben, userTopic(ben)), await listenAs(eve, userTopic(eve))]
  await world().user(ana.id, { name: 'Anabel' })
  await bens.until(() => namesReceivedBy(bens).includes('Anabel'))
  await createGroup(ana, eve)
  await world().user(ana.id, { name: 'Anna' })
  await eves.until(() => namesReceivedBy(eves).includes('Anna'))
  await bens.until(() => namesReceivedBy(bens).includes('Anna'))
  expect([namesReceivedBy(bens), namesReceivedBy(eves)]).toEqual([['Anabel', 'Anna'], ['Anna']])
})

test.each(types)(
  'members of a large %s are sent counts and its deletion, others are not',
  async (type) => {
    const { ana, ben, channelId, addLast } = await createAlmostLarge(type)
    await addLast()
    const [eve] = await newUsers()
    const [bens, eves] = [await listenAs(ben, userTopic(ben)), await listenAs(eve, userTopic(eve))]
    await ana.messages.send({ channelId, text: 'hi' })
    await bens.until(() => counts(bens, 'channel.unread_changed').includes(1))
    await ben.reads.mark({ channelId })
    await bens.until(() => counts(bens, 'channel.unread_changed').includes(0))
    await ana.channels.delete({ channelId })
    await bens.untilType('channel.deleted')
    await world().user(eve.id, { name: 'Evelyn' })
    await eves.untilType('user.updated')
    expect(eves.types.filter((type) => type.startsWith('channel.'))).toEqual([])
  },
)

test('a channel of 101 members does not show who is subscribed', async () => {
  const { ana, channelId, addLast } = await createAlmostLarge('group')
  const raw = await terminatedLater(RawSocket.connect(world(), ana))
  const channel = channelTopic(channelId)
  await raw.ask({ id: 2, subscribe: { channel } })
  expect(await raw.ask({ id: 3, presence: { channel } })).toHaveProperty('presence')
  expect(await raw.ask({ id: 4, presence_stats: { channel } })).toHaveProperty('presence_stats')
  await addLast()
  for (const [index, command] of ['presence', 'presence_stats'].entries())
    expect(await raw.ask({ id: 5 + index, [command]: { channel } })).toMatchObject({
      error: { code: 108 },
    })
})

test('renames of a channel that come at once reach its members as the last one', async () => {
  const { ana, ben, channelId } = await createAlmostLarge('group')
  const bens = await listenAs(ben, userTopic(ben))
  const names = Array.from({ length: 20 }, (_, index) => `Show ${index}`)
  await Promise.all(names.map((name) => ana.channels.update({ channelId, name })))
  const { name: last } = await ana.channels.get({ channelId })
  const copies = () =>
    bens.received.flatMap(({ envelope: { type, payload } }) =>
      type === 'channel.updated' && payload.channel.id === channelId ? [payload.channel] : [],
    )
  await bens.until(() => copies().at(-1)?.name === last)
  const times = copies().map(({ updatedAt }) => updatedAt)
  expect(times).toEqual(times.toSorted())
})
