import { expect, test } from 'vitest'
import { idle } from './support/idle.ts'
import { withoutCleanup } from './support/locks.ts'
import { usePushChannel } from './support/push.ts'

const { world, provider, current, settle, send } = usePushChannel()

test('a reaction whose message or channel was deleted meanwhile is not pushed', async () => {
  const { ana, ben, channelId } = current()
  const { db, appId } = world()
  const emoji = '👍'
  const [gone, left] = [await send('deleted'), await send('in a deleted channel')]
  for (const { id: messageId } of [gone, left])
    await ben.reactions.add({ channelId, messageId, emoji })
  await settle()
  const push = async (messageId: string) => {
    await db`
      insert into staged_jobs (task, payload)
      values ('push-reaction', ${db.json({ appId, messageId, userId: ben.id, emoji })})`
    await idle(world())
  }
  // The cleanup removes the reactions: of a message alone only where many users have reacted.
  await withoutCleanup(world(), async () => {
    await db`
      update messages
      set deleted_at = now()
      where app_id = ${appId}
        and id = ${gone.id}`
    await push(gone.id)
    await ana.channels.delete({ channelId })
    await push(left.id)
  })
  expect(provider().kindsFor(ana.id)).toEqual([])
})

test('a message whose author was deleted meanwhile is not pushed', async () => {
  const { ana, ben } = current()
  const { backend, db, appId } = world()
  const { id: messageId } = await send('last words')
  await settle()
  await withoutCleanup(world(), async () => {
    await backend.users.delete({ userId: ana.id })
    await db`
      insert into staged_jobs (task, payload)
      values ('push-message', ${db.json({ appId, messageId })})`
    await idle(world())
  })
  expect(provider().kindsFor(ben.id)).toEqual([])
})

test('waiting jobs push nothing once their app is deleted, also before it is purged', async () => {
  const { operator, db, api } = world()
  const { id: appId, apiKey } = await operator.apps.create({ name: 'Gone' })
  await api({ apiKey }).users.sync({ users: [{ id: 'dan' }, { id: 'eve' }] })
  const [dan, eve] = [api({ apiKey, userId: 'dan' }), api({ apiKey, userId: 'eve' })]
  const { id: channelId } = await dan.channels.create({
    ...{ type: 'group', name: 'Talk', memberIds: ['eve'] },
  })
  const { id: messageId } = await dan.messages.send({ channelId, text: 'Hello' })
  await eve.reactions.add({ channelId, messageId, emoji: '👍' })
  await settle()
  const jobs = {
    'push-message': { appId, messageId },
    'push-reaction': { appId, messageId, userId: 'eve', emoji: '👍' },
    'push-invite': { appId, channelId, invitedBy: 'dan', userIds: ['eve'] },
  }
  const push = async () => {
    for (const [task, payload] of Object.entries(jobs))
      await db`insert into staged_jobs (task, payload) values (${task}, ${db.json(payload)})`
    await idle(world())
    return ['dan', 'eve'].map((id) => provider().kindsFor(id).toSorted())
  }
  expect(await push()).toEqual([['reaction'], ['channel-invite', 'new-message']])
  provider().forget()
  await withoutCleanup(world(), async () => {
    await operator.apps.delete({ appId })
    expect(await push()).toEqual([[], []])
  })
})
