import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { until } from './support/until.ts'
import { type User, useWorldWithProvider } from './support/world.ts'

const { world, provider } = useWorldWithProvider()

let ana: User
let ben: User
let cleo: User
let channelId: string
/** Each test has its own people, who have just been added to a channel. */
beforeEach(async () => {
  const id = randomUUID().slice(0, 8)
  ;[ana, ben, cleo] = await Promise.all([
    world().user(`ana-${id}`, { name: `Ana ${id}`, image: 'https://example.com/ana.png' }),
    world().user(`ben-${id}`),
    world().user(`cleo-${id}`, { name: `Cleo of ${id}` }),
  ])
  channelId = (
    await ana.channels.create({
      type: 'group',
      name: 'Kitchen',
      description: 'Soup',
      memberIds: [ben.id, cleo.id],
    })
  ).id
  await idle(world())
  provider().behave()
  provider().forget()
})

const send = (text: string, more: { parentId?: string } = {}) =>
  ana.messages.send({ channelId, text, ...more })
const one = (userId: string) =>
  provider()
    .triggered()
    .filter(({ to }) => to === userId)

test('a new message is pushed to every other member, field by field', async () => {
  const { id: messageId } = await send('hello\n  there')
  await idle(world())
  expect(one(ben.id)).toEqual([
    {
      name: 'new-message',
      to: ben.id,
      transactionId: `${messageId}:${ben.id}:new-message`,
      payload: {
        senderId: ana.id,
        senderName: ana.minted.user.name,
        senderAvatar: 'https://example.com/ana.png',
        channelId,
        channelName: 'Kitchen',
        messagePreview: 'hello there',
        messageId,
      },
    },
  ])
  expect(provider().kindsFor(cleo.id)).toEqual(['new-message'])
  expect(provider().kindsFor(ana.id)).toEqual([])
  expect(provider().calls.every(({ key }) => key === 'ApiKey secret-of-the-tests')).toBe(true)
})

test('a mention is pushed instead of the message, by id or by name', async () => {
  const { id: messageId } = await send(
    `hi @${ben.id} and @${cleo.minted.user.name.replaceAll(' ', '-').toUpperCase()}`,
  )
  await idle(world())
  expect(one(ben.id)).toMatchObject([
    {
      name: 'mention',
      transactionId: `${messageId}:${ben.id}:mention`,
      payload: {
        mentionedBy: ana.id,
        mentionedByName: ana.minted.user.name,
        channelId,
        channelName: 'Kitchen',
        messagePreview: expect.stringContaining('hi @ben'),
        messageId,
      },
    },
  ])
  expect(Object.keys(one(ben.id)[0]?.payload ?? {})).toHaveLength(6)
  expect(provider().kindsFor(cleo.id)).toEqual(['mention'])
})

test('a reply is pushed to those in the thread as such, and to the others as a message', async () => {
  const root = await ben.messages.send({ channelId, text: 'soup or salad?' })
  await cleo.messages.send({ channelId, text: 'salad', parentId: root.id })
  await idle(world())
  provider().forget()
  const dora = await world().user(`dora-${ana.id}`)
  await ana.members.add({ channelId, userIds: [dora.id] })
  await idle(world())
  provider().forget()
  await send('soup!', { parentId: root.id })
  await idle(world())
  expect(one(ben.id)).toMatchObject([
    {
      name: 'thread-reply',
      payload: {
        replierId: ana.id,
        replierName: ana.minted.user.name,
        channelId,
        channelName: 'Kitchen',
        threadId: root.id,
        replyPreview: 'soup!',
      },
    },
  ])
  expect(Object.keys(one(ben.id)[0]?.payload ?? {})).toHaveLength(6)
  expect(provider().kindsFor(cleo.id)).toEqual(['thread-reply'])
  expect(provider().kindsFor(dora.id)).toEqual(['new-message'])
})

test('being added to a channel is pushed, joining and direct messages are not', async () => {
  const made = await ana.channels.create({
    type: 'group',
    name: 'New',
    description: 'About it',
    memberIds: [ben.id],
  })
  await ana.members.add({ channelId: made.id, userIds: [ben.id, cleo.id] })
  await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
  const open = await ana.channels.create({ type: 'public', name: 'Open' })
  await ben.members.join({ channelId: open.id })
  await idle(world())
  expect(one(ben.id)).toMatchObject([
    {
      name: 'channel-invite',
      transactionId: expect.stringContaining(`:${ben.id}:channel-invite`),
      payload: {
        invitedBy: ana.id,
        invitedByName: ana.minted.user.name,
        channelId: made.id,
        channelName: 'New',
        channelDescription: 'About it',
      },
    },
  ])
  expect(Object.keys(one(ben.id)[0]?.payload ?? {})).toHaveLength(5)
  expect(provider().kindsFor(cleo.id)).toEqual(['channel-invite'])
  expect(provider().kindsFor(ana.id)).toEqual([])
})

test('a reaction is pushed to the author of the message, each once, never for his own', async () => {
  const { id: messageId } = await send('like this')
  await idle(world())
  provider().forget()
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await cleo.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await idle(world())
  expect(provider().triggered()).toHaveLength(2)
  const [first] = one(ana.id).filter(({ payload }) => payload.reactorId === ben.id)
  expect(first).toMatchObject({
    name: 'reaction',
    payload: {
      reactorId: ben.id,
      reactorName: ben.id,
      emoji: '👍',
      channelId,
      messagePreview: 'like this',
      messageId,
    },
  })
  expect(Object.keys(first?.payload ?? {})).toHaveLength(6)
  expect(new Set(one(ana.id).map(({ transactionId }) => transactionId)).size).toBe(2)
})

test("a direct message's channel is called after its sender; what is unset is empty", async () => {
  const { id } = await ben.channels.create({ type: 'messaging', memberIds: [cleo.id] })
  await ben.messages.send({
    channelId: id,
    text: '',
    attachments: [{ type: 'image', url: 'https://example.com/a.png' }],
  })
  await idle(world())
  expect(one(cleo.id)).toMatchObject([
    {
      name: 'new-message',
      payload: { senderName: ben.id, senderAvatar: '', channelName: ben.id, messagePreview: '' },
    },
  ])
})

test('the preview has a hundred characters, none cut in two', async () => {
  await send('👩‍👩‍👧‍👦'.repeat(150))
  await idle(world())
  expect(one(ben.id)[0]?.payload.messagePreview).toBe('👩‍👩‍👧‍👦'.repeat(100))
})

test('former members hear nothing, nor does anybody of a message that was deleted', async () => {
  const dora = await world().user(`dora-${ana.id}`)
  await ana.members.add({ channelId, userIds: [dora.id] })
  await idle(world())
  provider().forget()
  await dora.members.leave({ channelId })
  const root = await send('after')
  await idle(world())
  expect(provider().kindsFor(dora.id)).toEqual([])
  provider().forget()
  await ana.messages.delete({ channelId, messageId: root.id })
  await world()
    .db`insert into staged_jobs (task, payload) values ('push-message', ${world().db.json({ appId: world().appId, messageId: root.id })})`
  await idle(world())
  expect(provider().triggered()).toEqual([])
})

test('each preference silences its kind and no other', async () => {
  const mine = await ben.messages.send({ channelId, text: 'mine' })
  await idle(world())
  const happen = async () => {
    provider().forget()
    await send('plain')
    await send(`@${ben.id}`)
    await send('reply', { parentId: mine.id })
    await cleo.reactions.add({ channelId, messageId: mine.id, emoji: '👍' })
    await ana.channels.create({ type: 'group', name: 'More', memberIds: [ben.id] })
    await idle(world())
    await cleo.reactions.remove({ channelId, messageId: mine.id, emoji: '👍' })
    return provider().kindsFor(ben.id).sort()
  }
  const all = {
    newMessages: true,
    mentions: true,
    reactions: true,
    channelInvites: true,
    threadReplies: true,
  }
  expect(await happen()).toEqual([
    'channel-invite',
    'mention',
    'new-message',
    'reaction',
    'thread-reply',
  ])
  await ben.preferences.update({ ...all, newMessages: false })
  expect(await happen()).toEqual(['channel-invite', 'mention', 'reaction', 'thread-reply'])
  await ben.preferences.update({ ...all, mentions: false, threadReplies: false })
  expect(await happen()).toEqual([
    'channel-invite',
    'new-message',
    'new-message',
    'new-message',
    'reaction',
  ])
  await ben.preferences.update({ ...all, reactions: false, channelInvites: false })
  expect(await happen()).toEqual(['mention', 'new-message', 'thread-reply'])
  await ben.preferences.update({ ...all, pushEnabled: false })
  expect(await happen()).toEqual([])
  await ben.preferences.update({
    pushEnabled: true,
    quietHoursEnabled: true,
    quietHoursStart: '00:00',
    quietHoursEnd: '23:59',
  })
  await ben.preferences.update({ timezone: new Date().getUTCHours() === 23 ? 'Asia/Tokyo' : 'UTC' })
  expect(await happen()).toEqual([])
})

test('a muted channel is silent, but for mentions and threads', async () => {
  await ben.channels.updateSettings({ channelId, muted: true })
  const mine = await ben.messages.send({ channelId, text: 'mine' })
  await idle(world())
  provider().forget()
  await send('plain')
  await send(`@${ben.id}`)
  await send('reply', { parentId: mine.id })
  await idle(world())
  expect(provider().kindsFor(ben.id).sort()).toEqual(['mention', 'thread-reply'])
})

test('the same job run twice tells of the same pushes, which the provider knows by their id', async () => {
  const { id: messageId } = await send('once')
  await idle(world())
  const before = provider()
    .triggered()
    .map(({ transactionId }) => transactionId)
  await world()
    .db`insert into staged_jobs (task, payload) values ('push-message', ${world().db.json({ appId: world().appId, messageId })})`
  await until(() => provider().triggered().length === 2 * before.length)
  expect(
    new Set(
      provider()
        .triggered()
        .map(({ transactionId }) => transactionId),
    ),
  ).toEqual(new Set(before))
})

test('each of 2,500 members gets one push, a page of members at a time, though the provider fails in between', async () => {
  const crowd = await insertUsers(world(), `${ana.id}-crowd`, 2_500)
  await insertMembers(world(), channelId, crowd)
  let calls = 0
  provider().behave((response, call) => {
    calls += 1
    provider().answer(calls === 5 ? 503 : 200)(response, call)
  })
  const done = async () =>
    Number(
      /push-message",outcome="done"} (\d+)/.exec(await world().metrics.registry.metrics())?.[1] ??
        0,
    )
  const before = await done()
  const { id } = await send(`hello @${crowd[2_499]}`)
  await idle(world())
  // What the provider refused was told again, by the same id.
  const told = new Map(
    provider()
      .triggered()
      .map(({ to, name }) => [to, name]),
  )
  expect([...told.keys()].sort()).toEqual([...crowd, ben.id, cleo.id].sort())
  expect(provider().triggered()).toHaveLength(2_502 + 100)
  expect(told.get(crowd[2_499] ?? '')).toBe('mention')
  expect(
    new Set(
      provider()
        .triggered()
        .map(({ payload }) => payload.messageId),
    ),
  ).toEqual(new Set([id]))
  expect((await done()) - before).toBe(3)
})

test('messages of channels of many and of few go on together until all members are told', async () => {
  const crowd = await insertUsers(world(), `${ana.id}-crowd`, 700)
  await insertMembers(world(), channelId, crowd)
  const other = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
  await idle(world())
  provider().forget()
  const sent = await Promise.all([
    send('one'),
    send('two'),
    ana.messages.send({ channelId: other.id, text: 'three' }),
  ])
  await idle(world())
  const ids = provider()
    .triggered()
    .map(({ transactionId }) => transactionId)
  expect(ids).toHaveLength(2 * 702 + 1)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { id } of sent)
    expect(one(ben.id).filter(({ payload }) => payload.messageId === id)).toHaveLength(1)
})
