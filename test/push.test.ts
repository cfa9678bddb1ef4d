import { systemUserId } from '@parley/contract'
import { expect, test } from 'vitest'
import { idle, stagePush } from './support/idle.ts'
import { withoutCleanup } from './support/locks.ts'
import { usePushChannel } from './support/push.ts'
import { until } from './support/until.ts'

const { world, provider, current, settle, send, pushesTo } = usePushChannel()

test('a new message is pushed to every member but its author, with all fields', async () => {
  const { ana, ben, cleo, channelId } = current()
  const { id: messageId } = await send('hello\n  there')
  await idle(world())
  expect(pushesTo(ben.id)).toEqual([
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

test('members mentioned by id or by name get a mention instead of a new message', async () => {
  const { ana, ben, cleo, channelId } = current()
  const { id: messageId } = await send(
    `hi @${ben.id} and @${cleo.minted.user.name.replaceAll(' ', '-').toUpperCase()}`,
  )
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([
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
  expect(Object.keys(pushesTo(ben.id)[0]?.payload ?? {})).toHaveLength(6)
  expect(provider().kindsFor(cleo.id)).toEqual(['mention'])
})

test('a silent message is pushed to no one, not even to mentioned users', async () => {
  const { ana, ben, cleo, channelId } = current()
  await ana.messages.send({ channelId, text: `psst @${ben.id}`, silent: true })
  const { id: messageId } = await send('aloud')
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([{ payload: { messageId } }])
  expect(provider().kindsFor(cleo.id)).toEqual(['new-message'])
})

test('a message that grows is pushed once, at its end, with the whole text', async () => {
  const { ana, ben, cleo, channelId } = current()
  const grow = async (more: { silent?: boolean } = {}) => {
    const begun = await ana.messages.send({ channelId, text: '', streaming: true, ...more })
    const ref = { channelId, messageId: begun.id }
    await ana.streams.append({ ...ref, at: 0, text: `soup, @${ben.id}` })
    return ref
  }
  const ref = await grow()
  const silent = await grow({ silent: true })
  await idle(world())
  expect(pushesTo(ben.id)).toEqual([])
  for (const each of [ref, ref, silent]) await ana.streams.finish(each)
  await idle(world())
  const { messageId } = ref
  expect(pushesTo(ben.id)).toMatchObject([
    { name: 'mention', payload: { messageId, messagePreview: `soup, @${ben.id}` } },
  ])
  expect(provider().kindsFor(cleo.id)).toEqual(['new-message'])
  provider().forget()
  const edited = await grow()
  await ana.messages.edit({ ...edited, text: 'stew' })
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([{ payload: { ...edited, messagePreview: 'stew' } }])
})

test('a system message is pushed only if that was asked for', async () => {
  const { ben, channelId } = current()
  const { backend } = world()
  await backend.messages.send({ channelId, text: 'joined by a link' })
  const asked = { channelId, text: 'the kitchen closes', silent: false }
  const { id: messageId } = await backend.messages.send(asked)
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([
    { name: 'new-message', payload: { senderId: systemUserId, senderName: 'System', messageId } },
  ])
})

test('a system message in a direct message is pushed as one of the system', async () => {
  const { ana, ben } = current()
  const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
  await settle()
  await world().backend.messages.send({ channelId, text: 'closed for today', silent: false })
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([
    { name: 'new-message', payload: { senderName: 'System', channelName: 'System' } },
  ])
})

test('a reply is a thread reply to authors of its thread, a new message to others', async () => {
  const { ana, ben, cleo, channelId } = current()
  const root = await ben.messages.send({ channelId, text: 'soup or salad?' })
  await cleo.messages.send({ channelId, text: 'salad', parentId: root.id })
  await settle()
  const dora = await world().user(`dora-${ana.id}`)
  await ana.members.add({ channelId, userIds: [dora.id] })
  await settle()
  await send('soup!', { parentId: root.id })
  await idle(world())
  expect(pushesTo(ben.id)).toMatchObject([
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
  expect(Object.keys(pushesTo(ben.id)[0]?.payload ?? {})).toHaveLength(6)
  expect(provider().kindsFor(cleo.id)).toEqual(['thread-reply'])
  expect(provider().kindsFor(dora.id)).toEqual(['new-message'])
})

test('being added to a channel is pushed; joining one and direct messages are not', async () => {
  const { ana, ben, cleo } = current()
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
  expect(pushesTo(ben.id)).toMatchObject([
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
  expect(Object.keys(pushesTo(ben.id)[0]?.payload ?? {})).toHaveLength(5)
  expect(provider().kindsFor(cleo.id)).toEqual(['channel-invite'])
  expect(provider().kindsFor(ana.id)).toEqual([])
})

test('a user who leaves a channel and is added again gets a second invitation', async () => {
  const { ana, ben, channelId } = current()
  const invite = async () => {
    await ben.members.leave({ channelId })
    await ana.members.add({ channelId, userIds: [ben.id] })
    await idle(world())
  }
  await invite()
  await invite()
  expect(provider().kindsFor(ben.id)).toEqual(['channel-invite', 'channel-invite'])
  expect(new Set(pushesTo(ben.id).map(({ transactionId }) => transactionId)).size).toBe(2)
})

test('a mention by id mentions no user whose name is that id', async () => {
  const { ben, cleo } = current()
  await world().user(cleo.id, { name: ben.id })
  await send(`hi @${ben.id}`)
  await idle(world())
  expect(provider().kindsFor(ben.id)).toEqual(['mention'])
  expect(provider().kindsFor(cleo.id)).toEqual(['new-message'])
})

test('a removed reaction is not pushed, whatever other reactions its user has', async () => {
  const { ana, ben, channelId } = current()
  const { id: messageId } = await send('like this')
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await idle(world())
  expect(provider().kindsFor(ana.id)).toEqual(['reaction'])
  const { db, appId } = world()
  await db`
    insert into staged_jobs (task, payload)
    values ('push-reaction', ${db.json({ appId, messageId, userId: ben.id, emoji: '🎉' })})`
  await idle(world())
  expect(provider().kindsFor(ana.id)).toEqual(['reaction'])
})

test('a message author gets one push per reaction, and none for their own', async () => {
  const { ana, ben, cleo, channelId } = current()
  const { id: messageId } = await send('like this')
  await settle()
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await cleo.reactions.add({ channelId, messageId, emoji: '👍' })
  await ana.reactions.add({ channelId, messageId, emoji: '👍' })
  await idle(world())
  expect(provider().triggered()).toHaveLength(2)
  const [first] = pushesTo(ana.id).filter(({ payload }) => payload.reactorId === ben.id)
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
  expect(new Set(pushesTo(ana.id).map(({ transactionId }) => transactionId)).size).toBe(2)
})

test('the channel name of a direct message is its sender, and unset fields are empty', async () => {
  const { ben, cleo } = current()
  const { id } = await ben.channels.create({ type: 'messaging', memberIds: [cleo.id] })
  await ben.messages.send({
    channelId: id,
    text: '',
    attachments: [{ type: 'image', url: 'https://example.com/a.png' }],
  })
  await idle(world())
  expect(pushesTo(cleo.id)).toMatchObject([
    {
      name: 'new-message',
      payload: { senderName: ben.id, senderAvatar: '', channelName: ben.id, messagePreview: '' },
    },
  ])
})

test('a message preview in a push is cut after 100 visible characters', async () => {
  const { ana, ben, channelId } = current()
  const { id: messageId } = await send('👩‍👩‍👧‍👦'.repeat(150))
  await ben.reactions.add({ channelId, messageId, emoji: '👍' })
  await idle(world())
  for (const { id } of [ana, ben])
    expect(pushesTo(id)[0]?.payload.messagePreview).toBe('👩‍👩‍👧‍👦'.repeat(100))
})

test('former members get no pushes, and deleted messages cause none', async () => {
  const { ana, channelId } = current()
  const dora = await world().user(`dora-${ana.id}`)
  await ana.members.add({ channelId, userIds: [dora.id] })
  await settle()
  await dora.members.leave({ channelId })
  const root = await send('after')
  await idle(world())
  expect(provider().kindsFor(dora.id)).toEqual([])
  provider().forget()
  await ana.messages.delete({ channelId, messageId: root.id })
  await stagePush(world(), root.id)
  await idle(world())
  expect(provider().triggered()).toEqual([])
})

test('a reaction to the message of a former member is not pushed to them', async () => {
  const { ana, ben, cleo, channelId } = current()
  const { id: theirs } = await ben.messages.send({ channelId, text: 'bye' })
  const { id: own } = await send('still here')
  await ben.members.leave({ channelId })
  await settle()
  await cleo.reactions.add({ channelId, messageId: theirs, emoji: '👋' })
  await cleo.reactions.add({ channelId, messageId: own, emoji: '👋' })
  await idle(world())
  expect(provider().kindsFor(ana.id)).toEqual(['reaction'])
  expect(provider().kindsFor(ben.id)).toEqual([])
})

test('a reaction to the message of a deleted user is not pushed to them', async () => {
  const { ben, cleo, channelId } = current()
  const { id: messageId } = await ben.messages.send({ channelId, text: 'bye' })
  await settle()
  const { db, appId } = world()
  // Until a cleanup has removed their rows they are still a member.
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: ben.id })
    await cleo.reactions.add({ channelId, messageId, emoji: '👋' })
    const left = await db`
      select
      from members
      where app_id = ${appId}
        and user_id = ${ben.id}`
    expect(left).not.toEqual([])
    await idle(world())
  })
  expect(provider().kindsFor(ben.id)).toEqual([])
})

test('a push job that runs twice repeats the same transaction ids', async () => {
  const { id: messageId } = await send('once')
  await idle(world())
  const transactionIds = () =>
    provider()
      .triggered()
      .map(({ transactionId }) => transactionId)
  const before = transactionIds()
  await stagePush(world(), messageId)
  await until(() => transactionIds().length === 2 * before.length)
  expect(new Set(transactionIds())).toEqual(new Set(before))
})
