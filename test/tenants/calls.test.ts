import { expect, onTestFinished, test } from 'vitest'
import { whileLocked } from '../support/locks.ts'
import { notFound, refusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { createWorld, useWorld } from '../support/world.ts'
import { createTenants, type Tenant } from './fixture.ts'

const world = useWorld()

test('a repeated creation finds the channel of its own app', async () => {
  const [ours, theirs] = await createTenants(world())
  const input = { type: 'group', name: 'Same', clientId: 'same' } as const
  const create = ({ ana }: Tenant) => ana.channels.create(input)
  const direct = ({ ana, ben }: Tenant) =>
    ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
  for (const make of [create, direct]) {
    const [their, our] = [await make(theirs), await make(ours)]
    expect(our.id).not.toBe(their.id)
    expect(our.cid).toBe(their.cid)
    expect([(await make(theirs)).id, (await make(ours)).id]).toEqual([their.id, our.id])
  }
})

test('direct messages are named after users of their own app', async () => {
  const tenants = await createTenants(world())
  for (const { appId, backend, ana, ben } of tenants) {
    const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
    const names = await Promise.all(
      [ana, ben, backend].map(async ({ channels }) => (await channels.get({ channelId })).name),
    )
    const [nameOfAna, nameOfBen] = [`Ana of ${appId}`, `Ben of ${appId}`]
    expect(names).toEqual([nameOfBen, nameOfAna, `${nameOfAna}, ${nameOfBen}`])
  }
})

test('an app cannot send to the channel of another in one batch with its members', async () => {
  const [ours, theirs] = await createTenants(world())
  const { channelId } = ours
  const sends = await whileLocked(world(), channelId, async (waiting) => {
    const first = ours.ana.messages.send({ channelId, text: 'first' })
    await waiting(1)
    return {
      settled: Promise.all([
        first,
        ours.ana.messages.send({ channelId, text: 'second' }),
        refusal(theirs.ana.messages.send({ channelId, text: 'of another app' })),
        refusal(theirs.ben.messages.send({ channelId, text: 'of another app' })),
      ]),
    }
  })
  const [, , ...refused] = await sends.settled
  expect(refused).toEqual([notFound, notFound])
  const { messages } = await ours.ben.messages.list({ channelId })
  expect(messages.map(({ text }) => text)).toEqual(['first', 'second'])
})

test('revoking tokens in one app voids none of a namesake, whoever calls first', async () => {
  const [ours, theirs] = await createTenants(world())
  for (const { ana } of [ours, theirs]) await ana.channels.list()
  await ours.backend.tokens.revoke({ userId: ours.ana.id })
  const renewed = await world().user(ours.ana.id, {}, ours.backend)
  expect((await renewed.channels.list()).channels).toHaveLength(1)
  expect((await theirs.ana.channels.list()).channels).toHaveLength(1)
  await expect(ours.ana.channels.list()).rejects.toMatchObject({ code: 'INVALID_TOKEN' })
})

test('the activity of a user is recorded beside that of a namesake in another app', async () => {
  const [ours, theirs] = await createTenants(world())
  const { db } = world()
  await db`
    update users
    set last_active_at = null
    where id in (${ours.ana.id}, ${ours.ben.id})
      and app_id in (${ours.appId}, ${theirs.appId})`
  const active = async ({ backend, ana, ben }: Tenant) => {
    const { users } = await backend.users.list()
    return [ana, ben].map(({ id }) => users.find((user) => user.id === id)?.lastActiveAt !== null)
  }
  await ours.ana.reads.mark({ channelId: ours.channelId })
  await until(async () => (await active(ours))[0])
  expect(await active(theirs)).toEqual([false, false])
  await theirs.ana.reads.mark({ channelId: theirs.channelId })
  await until(async () => (await active(theirs))[0])
  expect([await active(ours), await active(theirs)]).toEqual([
    [true, false],
    [true, false],
  ])
})

test('apps and users of the same ids in other apps have rate limits of their own', async () => {
  const limited = await createWorld({ rateLimits: { tokens: 0, messages: 1, requests: 20 } })
  onTestFinished(limited.stop)
  const [ours, theirs] = await createTenants(limited)
  const send = ({ ana, channelId }: Tenant) => ana.messages.send({ channelId, text: 'hello' })
  await send(ours)
  expect(await refusal(send(ours))).toMatchObject({ status: 429 })
  await send(theirs)
  const calls = Array.from({ length: 20 }, () => ours.ana.channels.list())
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
  await theirs.ana.channels.list()
})

test('actions and losses of a user in one app change nothing for a namesake', async () => {
  const [ours, theirs] = await createTenants(world())
  const { ana, ben, backend } = theirs
  const device = { platform: 'ios', provider: 'apns', token: 'same', deviceId: 'same' } as const
  const { id: workspaceId } = await ana.workspaces.create({ name: 'Theirs', type: 'team' })
  await ben.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
  await ben.preferences.update({ mentions: false })
  await backend.users.put({ userId: ben.id, custom: { plan: 'pro' } })
  await ben.devices.create(device)
  const before = await stateOf(theirs)

  const our = await ours.ana.workspaces.create({ name: 'Ours', type: 'team' })
  await ours.ben.invites.accept({
    token: (await ours.ana.invites.create({ workspaceId: our.id })).token,
  })
  await ours.ben.devices.create(device)
  await ours.ben.devices.delete({ deviceId: 'same' })
  await ours.ben.preferences.update({ reactions: false })
  await ours.backend.users.put({ userId: ours.ben.id, custom: { plan: 'free' } })
  await ours.ana.workspaces.removeMember({ workspaceId: our.id, userId: ours.ben.id })
  await ours.ana.members.remove({ channelId: ours.channelId, userId: ours.ben.id })
  await ours.backend.users.bulkDelete({ userIds: [ours.ana.id, ours.ben.id] })
  await world().cleanup.run()
  expect(await stateOf(theirs)).toEqual(before)
  for (const { id } of [ours.ana, ours.ben])
    expect(await refusal(ours.backend.users.get({ userId: id }))).toEqual(notFound)
})

/** The state that ben sees in an app. */
async function stateOf({ ben, backend, channelId, appId }: Tenant) {
  const { workspaces } = await ben.workspaces.list()
  const devices = await world().db`
    select *
    from devices
    where app_id = ${appId}`
  return {
    devices,
    workspaces,
    channels: await ben.channels.list(),
    members: await ben.members.list({ channelId }),
    colleagues: await ben.workspaces.members({ workspaceId: workspaces[0]?.id ?? '' }),
    preferences: await ben.preferences.get(),
    profile: await backend.users.get({ userId: ben.id }),
    users: await backend.users.list(),
    // Its version counts the transactions of all apps.
    unread: (await ben.reads.unreadCount()).count,
  }
}
