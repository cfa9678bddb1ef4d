import { expect, test } from 'vitest'
import { userEventsOf } from './support/events.ts'
import { insertWorkspace } from './support/inserted.ts'
import { waitingForRows, whileRowLocked } from './support/locks.ts'
import { forbidden, notFound, refusal } from './support/refusal.ts'
import { type User, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

/** A workspace of the first user, into which the others came by invitation. */
async function acme(...users: [User, ...User[]]) {
  const [owner, ...others] = users
  const workspace = await owner.workspaces.create({ name: 'Acme', type: 'team' })
  for (const user of others) await joinAs(owner, user, workspace.id)
  return workspace.id
}
const joinAs = async (
  owner: User,
  user: User,
  workspaceId: string,
  role: 'admin' | 'member' | 'owner' = 'member',
) => user.invites.accept({ token: (await owner.invites.create({ workspaceId, role })).token })

test("a workspace is owned by its creator, and a user's first one is the default", async () => {
  const ana = await world().user('ana')
  const first = await ana.workspaces.create({
    name: 'First',
    type: 'team',
    image: 'https://example.com/1.png',
  })
  expect(first).toMatchObject({
    name: 'First',
    type: 'team',
    image: 'https://example.com/1.png',
    memberCount: 1,
    channelCount: 0,
    role: 'owner',
    isDefault: true,
  })
  const second = await ana.workspaces.create({ name: 'Second', type: 'club' })
  expect(second).toMatchObject({ isDefault: false, image: null })
  await ana.channels.create({ type: 'team', name: 'General', workspaceId: second.id })
  expect((await ana.workspaces.list()).workspaces).toEqual([first, { ...second, channelCount: 1 }])
  expect(await (await world().user('nobody')).workspaces.list()).toEqual({
    workspaces: [],
    nextCursor: null,
  })
})

test('only members see the members of a workspace', async () => {
  const [ana, ben, eve] = await world().users('l-ana', 'l-ben', 'l-eve')
  const workspaceId = await acme(ana, ben)
  expect((await ben.workspaces.members({ workspaceId })).members).toMatchObject([
    { userId: 'l-ana', user: { id: 'l-ana', name: 'l-ana', image: null }, role: 'owner' },
    { userId: 'l-ben', role: 'member' },
  ])
  expect(await refusal(eve.workspaces.members({ workspaceId }))).toEqual(forbidden)
  const { token } = await (await world().stranger()).tokens.create({ userId: 'l-ana' })
  expect(await refusal(world().api({ token }).workspaces.members({ workspaceId }))).toEqual(
    notFound,
  )
})

test('an owner removes anyone, an admin plain members, and everyone oneself', async () => {
  const [ana, ben, cem, dora] = await world().users('m-ana', 'm-ben', 'm-cem', 'm-dora')
  const eve = await world().user('m-eve')
  const workspaceId = await acme(ana, cem, dora)
  for (const admin of [ben, eve]) await joinAs(ana, admin, workspaceId, 'admin')
  const remove = (by: User, { id: userId }: User) =>
    by.workspaces.removeMember({ workspaceId, userId })
  expect(await refusal(remove(cem, dora))).toEqual(forbidden)
  for (const user of [ana, eve]) expect(await refusal(remove(ben, user))).toEqual(forbidden)
  expect(await remove(ben, cem)).toEqual({ success: true })
  expect(await refusal(remove(ben, cem))).toEqual(notFound)
  expect(await refusal(remove(cem, dora))).toEqual(forbidden)
  expect(await remove(dora, dora)).toEqual({ success: true })
  for (const admin of [ben, eve]) expect(await remove(ana, admin)).toEqual({ success: true })
  expect((await ana.workspaces.members({ workspaceId })).members).toHaveLength(1)
})

test('the oldest admin of a workspace replaces the last owner who leaves', async () => {
  const [ana, ben, cem] = await world().users('h-ana', 'h-ben', 'h-cem')
  const workspaceId = await acme(ana, ben)
  const [before] = (await ben.workspaces.list()).workspaces
  await joinAs(ana, cem, workspaceId, 'admin')
  await ana.workspaces.removeMember({ workspaceId, userId: 'h-ana' })
  expect((await cem.workspaces.list()).workspaces[0]?.role).toBe('owner')
  await joinAs(cem, ana, workspaceId, 'owner')
  await Promise.all([
    cem.workspaces.removeMember({ workspaceId, userId: 'h-cem' }),
    ana.workspaces.removeMember({ workspaceId, userId: 'h-ana' }),
  ])
  expect((await ben.workspaces.list()).workspaces[0]).toMatchObject({
    role: 'owner',
    memberCount: 1,
    // It is who is in it that has changed.
    updatedAt: before?.updatedAt,
  })
})

test('the oldest of several admins replaces the last owner', async () => {
  const [ana, ben, cem, dora] = await world().users('o-ana', 'o-dora', 'o-cem', 'o-ben')
  const workspaceId = await acme(ana, ben)
  for (const user of [cem, dora]) await joinAs(ana, user, workspaceId, 'admin')
  await ana.workspaces.removeMember({ workspaceId, userId: 'o-ana' })
  const { members } = await ben.workspaces.members({ workspaceId })
  expect(members.map(({ userId, role }) => `${userId} ${role}`)).toEqual([
    'o-dora member',
    'o-cem owner',
    'o-ben admin',
  ])
  const page = await ben.workspaces.members({ workspaceId, limit: 1, offset: 1 })
  expect(page.members).toEqual(members.slice(1, 2))
})

test('a user who is removed from one workspace stays in the others', async () => {
  const [ana, ben] = await world().users('s-ana', 's-ben')
  const workspaceId = await acme(ana, ben)
  const kept = await acme(ana, ben)
  await ana.workspaces.removeMember({ workspaceId, userId: 's-ben' })
  expect((await ben.workspaces.list()).workspaces).toMatchObject([
    { id: kept, memberCount: 2, isDefault: true },
  ])
  expect(
    (await userEventsOf(world(), 's-ben')).map(({ type, payload }) => [type, payload]),
  ).toEqual([['workspace.removed', { workspaceId }]])
})

test('the default workspace is the first joined, without its deleted channels', async () => {
  const ana = await world().user('z-ana')
  const first = await ana.workspaces.create({ name: 'Zebra', type: 'team' })
  await ana.workspaces.create({ name: 'Ant', type: 'team' })
  const create = (name: string) =>
    ana.channels.create({ type: 'team', name, workspaceId: first.id })
  await create('Kept')
  await ana.channels.delete({ channelId: (await create('Deleted')).id })
  expect((await ana.workspaces.list()).workspaces).toMatchObject([
    { name: 'Zebra', isDefault: true, channelCount: 1 },
    { name: 'Ant', isDefault: false, channelCount: 0 },
  ])
})

test('team channels are for workspace members, and for those who joined before', async () => {
  const [ana, ben, eve] = await world().users('t-ana', 't-ben', 't-eve')
  const workspaceId = await acme(ana, ben)
  const open = await ana.channels.create({ type: 'team', name: 'Open', workspaceId })
  const joined = await ana.channels.create({ type: 'team', name: 'Joined', workspaceId })
  await ana.messages.send({ channelId: open.id, text: 'hi' })
  expect(await refusal(eve.messages.list({ channelId: open.id }))).toEqual(forbidden)
  expect(await refusal(eve.members.join({ channelId: open.id }))).toEqual(forbidden)
  expect((await ben.messages.list({ channelId: open.id })).messages).toHaveLength(1)
  expect(await refusal(ben.messages.send({ channelId: open.id, text: 'me too' }))).toEqual(
    forbidden,
  )
  expect((await ben.members.join({ channelId: joined.id })).role).toBe('member')

  await ana.workspaces.removeMember({ workspaceId, userId: 't-ben' })
  expect(await refusal(ben.messages.list({ channelId: open.id }))).toEqual(forbidden)
  expect(await refusal(ben.channels.get({ channelId: open.id }))).toEqual(forbidden)
  expect(await refusal(ben.members.join({ channelId: open.id }))).toEqual(forbidden)
  expect(await ben.messages.list({ channelId: joined.id })).toMatchObject({ messages: [] })
  expect(await refusal(ben.channels.create({ type: 'team', name: 'Mine', workspaceId }))).toEqual(
    forbidden,
  )
})

test('if both owners of a workspace are deleted at once, a member becomes owner', async () => {
  const { backend } = world()
  const [ada, bob, cat] = await world().users('ada', 'bob', 'cat')
  const id = await insertWorkspace(world(), { ada: 'owner', bob: 'owner', cat: 'member' })
  await ada.devices.create({ platform: 'ios', provider: 'apns', token: 'of-ada' })
  const { deletions } = await whileRowLocked(
    world(),
    (sql) => sql`select from devices where token = 'of-ada' for update`,
    async () => {
      const first = backend.users.delete({ userId: ada.id })
      await waitingForRows(world(), 1)
      const second = backend.users.delete({ userId: bob.id })
      await Promise.race([second, waitingForRows(world(), 2)])
      return { deletions: [first, second] }
    },
  )
  await Promise.all(deletions)
  expect((await cat.workspaces.list()).workspaces).toMatchObject([{ id, role: 'owner' }])
})

test('a deleted user leaves their workspaces, and another member becomes owner', async () => {
  const [ana, ben] = await world().users('d-ana', 'd-ben')
  const workspaceId = await acme(ana, ben)
  await world().backend.users.delete({ userId: 'd-ana' })
  expect((await ben.workspaces.list()).workspaces[0]).toMatchObject({
    id: workspaceId,
    role: 'owner',
    memberCount: 1,
  })
  expect(await (await world().user('d-ana')).workspaces.list()).toEqual({
    workspaces: [],
    nextCursor: null,
  })
})

test('only members of a workspace discover its team channels', async () => {
  const [ana, ben, eve] = await world().users('discover-ana', 'discover-ben', 'discover-eve')
  const workspaceId = await acme(ana, ben)
  const { id } = await ana.channels.create({ type: 'team', name: 'Hidden from none', workspaceId })
  const found = async (user: typeof ben) =>
    (await user.channels.list({ discover: true, type: 'team' })).channels.map((channel) => [
      channel.id,
      channel.role,
    ])
  expect(await found(ben)).toEqual([[id, null]])
  expect(await found(eve)).toEqual([])
  for (const type of ['group', 'private'] as const)
    await ana.channels.create({ type, name: 'Hidden from none else', workspaceId })
  const named = await ben.channels.list({ discover: true, q: 'Hidden from none' })
  expect(named.channels.map((channel) => channel.id)).toEqual([id])
})
