import { expect, test } from 'vitest'
import { waitingForRows, whileRowLocked, withoutCleanup } from './support/locks.ts'
import { refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('a deleted user gets nothing new on a node that missed the deletion', async () => {
  const { appId, db } = world()
  const [rik, sue] = await world().users('late-rik', 'late-sue')
  const memberIds = [rik.id]
  const { id: channelId } = await sue.channels.create({ type: 'group', name: 'Late', memberIds })
  const { id: openId } = await sue.channels.create({ type: 'public', name: 'Open' })
  const { id: messageId } = await sue.messages.send({ channelId, text: 'hi' })
  const { id: workspaceId } = await sue.workspaces.create({ name: 'Late', type: 'team' })
  const { token } = await sue.invites.create({ workspaceId })
  // Their token is known to be good from here on.
  await rik.channels.list()
  await withoutCleanup(world(), async () => {
    await db`
      update users
      set deleted_at = clock_timestamp()
      where app_id = ${appId}
        and id = ${rik.id}`
    for (const late of [
      () => rik.messages.send({ channelId, text: 'too late' }),
      () => rik.reactions.add({ channelId, messageId, emoji: '👍' }),
      () => rik.devices.create({ platform: 'ios', provider: 'apns', token: 'late' }),
      () => rik.preferences.update({ mentions: false }),
      () => rik.workspaces.create({ name: 'Mine', type: 'team' }),
      () => rik.invites.accept({ token }),
      () => rik.members.join({ channelId: openId }),
      () => rik.channels.create({ type: 'group', name: 'Mine', memberIds: [sue.id] }),
    ])
      expect(await refusal(late()), `${late}`).toMatchObject({ code: 'INVALID_TOKEN' })
  })
})

test('if both owners leave a workspace at once, another member becomes owner', async () => {
  const { appId, db } = world()
  const [ana, ben, cem] = await world().users('leave-ana', 'leave-ben', 'leave-cem')
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
  for (const [user, role] of [
    [ben, 'owner'],
    [cem, 'member'],
  ] as const) {
    const { token } = await ana.invites.create({ workspaceId, role })
    await user.invites.accept({ token })
  }
  const leaving = [ana.id, ben.id]
  // Each of them has events, whose numbers the last statement takes.
  await ana.channels.create({ type: 'group', name: 'Talk', memberIds: [ben.id] })
  const left = await whileRowLocked(
    world(),
    (sql) => sql`
      select
      from user_streams
      where app_id = ${appId}
        and user_id = any(${leaving}::text[])
      for update`,
    async () => {
      const calls = [ana, ben].map(({ id, workspaces }) =>
        workspaces.removeMember({ workspaceId, userId: id }),
      )
      await waitingForRows(world(), 2)
      return { calls }
    },
  )
  await Promise.all(left.calls)
  const roles = await db`
    select user_id, role
    from workspace_members
    where workspace_id = ${workspaceId}`
  expect(roles).toEqual([{ userId: cem.id, role: 'owner' }])
})
