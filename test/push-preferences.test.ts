import { expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { withoutCleanup } from './support/locks.ts'
import { usePushChannel } from './support/push.ts'

const { world, provider, current, settle, send } = usePushChannel()

test('each preference silences its kind of push and no other', async () => {
  const { ana, ben, cleo, channelId } = current()
  const mine = await ben.messages.send({ channelId, text: 'mine' })
  await idle(world())
  const pushedKinds = async () => {
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
  expect(await pushedKinds()).toEqual([
    'channel-invite',
    'mention',
    'new-message',
    'reaction',
    'thread-reply',
  ])
  await ben.preferences.update({ ...all, newMessages: false })
  expect(await pushedKinds()).toEqual(['channel-invite', 'mention', 'reaction', 'thread-reply'])
  await ben.preferences.update({ ...all, mentions: false, threadReplies: false })
  expect(await pushedKinds()).toEqual([
    'channel-invite',
    'new-message',
    'new-message',
    'new-message',
    'reaction',
  ])
  await ben.preferences.update({ ...all, reactions: false, channelInvites: false })
  expect(await pushedKinds()).toEqual(['mention', 'new-message', 'thread-reply'])
  await ben.preferences.update({ ...all, pushEnabled: false })
  expect(await pushedKinds()).toEqual([])
  await ben.preferences.update({
    pushEnabled: true,
    quietHoursEnabled: true,
    quietHoursStart: '00:00',
    quietHoursEnd: '23:59',
  })
  await ben.preferences.update({ timezone: new Date().getUTCHours() === 23 ? 'Asia/Tokyo' : 'UTC' })
  expect(await pushedKinds()).toEqual([])
})

test('a muted channel sends only mentions and thread replies', async () => {
  const { ben, channelId } = current()
  await ben.channels.updateSettings({ channelId, muted: true })
  const mine = await ben.messages.send({ channelId, text: 'mine' })
  await settle()
  await send('plain')
  await send(`@${ben.id}`)
  await send('reply', { parentId: mine.id })
  await idle(world())
  expect(provider().kindsFor(ben.id).sort()).toEqual(['mention', 'thread-reply'])
})

test('an invitation to a channel that has been deleted is not pushed', async () => {
  const { ana, ben } = current()
  const { db, appId } = world()
  const { id: channelId } = await ana.channels.create({
    type: 'group',
    name: 'Short-lived',
    memberIds: [ben.id],
  })
  await idle(world())
  expect(provider().kindsFor(ben.id)).toEqual(['channel-invite'])
  // Until a cleanup has removed its rows, the channel still has members.
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId })
    const job = { appId, channelId, invitedBy: ana.id, userIds: [ben.id] }
    await db`insert into staged_jobs (task, payload) values ('push-invite', ${db.json(job)})`
    await idle(world())
  })
  expect(provider().kindsFor(ben.id)).toEqual(['channel-invite'])
})

test('a deleted user gets no push of messages and invites, erased or not', async () => {
  const { ana, ben, cleo, channelId } = current()
  const { db, appId } = world()
  // Until a cleanup has removed their rows they are still a member.
  await withoutCleanup(world(), async () => {
    await world().backend.users.delete({ userId: ben.id })
    await send('for cleo alone')
    const job = { appId, channelId, invitedBy: ana.id, userIds: [ben.id] }
    await db`insert into staged_jobs (task, payload) values ('push-invite', ${db.json(job)})`
    await idle(world())
    const left = await db`
      select
      from members
      where app_id = ${appId}
        and user_id = ${ben.id}`
    expect(left).not.toEqual([])
  })
  expect(provider().kindsFor(cleo.id)).toEqual(['new-message'])
  expect(provider().kindsFor(ben.id)).toEqual([])
})
