import { expect, test } from 'vitest'
import { forbidden, invalid, notFound, refusal } from './support/refusal.ts'
import { createWorld, PUBLIC_URL, useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

async function workspaceOf(id: string) {
  const owner = await world().user(id)
  return { owner, workspaceId: (await owner.workspaces.create({ name: 'Acme', type: 'team' })).id }
}
const memberCount = async (workspaceId: string) =>
  (
    await world().db`
      select
      from workspace_members
      where workspace_id = ${workspaceId}`
  ).length

test('an invite is a link that is valid for a week, and only its hash is stored', async () => {
  const { owner, workspaceId } = await workspaceOf('ana')
  const { token, inviteUrl, expiresAt } = await owner.invites.create({ workspaceId })
  expect(Buffer.from(token, 'base64url')).toHaveLength(16)
  expect(inviteUrl).toBe(`${PUBLIC_URL}/invites/${token}`)
  expect(Math.round((Date.parse(expiresAt) - Date.now()) / 3_600_000)).toBe(7 * 24)
  const [stored] = await world().db<{ rows: string }[]>`
    select jsonb_agg(wi)::text as rows
    from workspace_invites wi`
  expect(stored?.rows).not.toContain(token)

  const ben = await world().user('ben')
  expect(await ben.invites.accept({ token })).toMatchObject({
    workspace: { id: workspaceId, name: 'Acme', role: 'member', memberCount: 2, isDefault: true },
  })
})

test('the invite URL follows INVITE_URL', async () => {
  const node = await createWorld({
    databaseUrl: world().databaseUrl,
    inviteUrl: 'https://app.test/join?invite={token}#{token}',
  })
  try {
    const { owner, workspaceId } = await workspaceOf('page-ana')
    const { token, inviteUrl } = await node
      .api({ token: owner.token })
      .invites.create({ workspaceId })
    expect(inviteUrl).toBe(`https://app.test/join?invite=${token}#${token}`)
  } finally {
    await node.stop()
  }
})

test('an invite is valid for the requested number of days', async () => {
  const { owner, workspaceId } = await workspaceOf('days-ana')
  for (const expiresInDays of [1, 365]) {
    const { expiresAt } = await owner.invites.create({ workspaceId, expiresInDays })
    expect(Math.round((Date.parse(expiresAt) - Date.now()) / 3_600_000)).toBe(expiresInDays * 24)
  }
})

test('owners and admins invite, with at most their own role', async () => {
  const { owner, workspaceId } = await workspaceOf('o-ana')
  const [ben, cem, dora, eve] = await world().users('o-ben', 'o-cem', 'o-dora', 'o-eve')
  await ben.invites.accept({
    token: (await owner.invites.create({ workspaceId, role: 'admin' })).token,
  })
  expect(await refusal(ben.invites.create({ workspaceId, role: 'owner' }))).toEqual(forbidden)
  await cem.invites.accept({ token: (await ben.invites.create({ workspaceId })).token })
  expect(await refusal(cem.invites.create({ workspaceId }))).toEqual(forbidden)
  const { id, token } = await ben.invites.create({ workspaceId, role: 'admin' })
  const { invites } = await owner.invites.list({ workspaceId })
  expect(invites).toContainEqual(expect.objectContaining({ id, role: 'admin' }))
  expect((await dora.invites.accept({ token })).workspace.role).toBe('admin')
  expect(await refusal(eve.invites.create({ workspaceId }))).toEqual(forbidden)
  expect(
    await refusal(owner.invites.create({ workspaceId: '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90' })),
  ).toEqual(notFound)
  for (const wrong of [
    { maxUses: 0 },
    { maxUses: 10_001 },
    { expiresInDays: 0 },
    { expiresInDays: 366 },
    { role: 'king' as never },
  ]) {
    expect(await refusal(owner.invites.create({ workspaceId, ...wrong }))).toEqual(invalid)
  }
})

test('an invite with five uses admits five of thirty users who accept at once', async () => {
  const { owner, workspaceId } = await workspaceOf('c-ana')
  const { token } = await owner.invites.create({ workspaceId, maxUses: 5 })
  const ids = Array.from({ length: 30 }, (_, index) => `c-${index}`)
  await world().backend.users.sync({ users: ids.map((id) => ({ id })) })
  const users = await world().users(...ids)
  const answers = await Promise.allSettled(users.map((user) => user.invites.accept({ token })))
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect(
    answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code] : [])),
  ).toEqual(Array(25).fill('FORBIDDEN'))
  expect(await memberCount(workspaceId)).toBe(6)
})

test('a user who accepts twenty times at once takes up one use', async () => {
  const { owner, workspaceId } = await workspaceOf('s-ana')
  const [ben, cem] = await world().users('s-ben', 's-cem')
  const { token } = await owner.invites.create({ workspaceId, maxUses: 2 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => ben.invites.accept({ token })))
  expect(answers.map(({ workspace }) => workspace.memberCount)).toEqual(Array(20).fill(2))
  await cem.invites.accept({ token })
  expect(await owner.invites.accept({ token })).toMatchObject({
    workspace: { role: 'owner', memberCount: 3 },
  })
})

test('rejoining by the same invite takes up no other use', async () => {
  const { owner, workspaceId } = await workspaceOf('r-ana')
  const [ben, cem, dora] = await world().users('r-ben', 'r-cem', 'r-dora')
  const { token } = await owner.invites.create({ workspaceId, maxUses: 2 })
  await ben.invites.accept({ token })
  await owner.workspaces.removeMember({ workspaceId, userId: 'r-ben' })
  await ben.invites.accept({ token })
  await cem.invites.accept({ token })
  expect(await memberCount(workspaceId)).toBe(3)
  expect(await refusal(dora.invites.accept({ token }))).toEqual(forbidden)
})

test('a removed user cannot rejoin by an invite that is used up', async () => {
  const { owner, workspaceId } = await workspaceOf('b-ana')
  const ben = await world().user('b-ben')
  const { token } = await owner.invites.create({ workspaceId, maxUses: 1 })
  await ben.invites.accept({ token })
  await owner.workspaces.removeMember({ workspaceId, userId: 'b-ben' })
  expect(await refusal(ben.invites.accept({ token }))).toEqual(forbidden)
})

test('an expired, unknown or foreign invite is not found', async () => {
  const { owner, workspaceId } = await workspaceOf('x-ana')
  const ben = await world().user('x-ben')
  const { token } = await owner.invites.create({ workspaceId })
  const foreign = await (await world().stranger()).tokens.create({ userId: 'x-ben' })
  expect(await refusal(world().api({ token: foreign.token }).invites.accept({ token }))).toEqual(
    notFound,
  )
  expect(await refusal(ben.invites.accept({ token: 'never-made' }))).toEqual(notFound)
  await world().db`
    update workspace_invites
    set expires_at = now() - interval '1 second'
    where workspace_id = ${workspaceId}`
  expect(await refusal(ben.invites.accept({ token }))).toEqual(notFound)
  await world().cleanup.run()
  expect(
    await world().db`
      select
      from workspace_invites
      where workspace_id = ${workspaceId}`,
  ).toHaveLength(0)
})

test('owners and admins list the valid invites, and members do not', async () => {
  const { owner, workspaceId } = await workspaceOf('l-ana')
  const [ben, cem] = await world().users('l-ben', 'l-cem')
  const first = await owner.invites.create({ workspaceId, role: 'admin', maxUses: 1 })
  await ben.invites.accept({ token: first.token })
  const second = await ben.invites.create({ workspaceId })
  await cem.invites.accept({ token: second.token })
  const expired = await ben.invites.create({ workspaceId })
  await world().db`
    update workspace_invites
    set expires_at = now() - interval '1 second'
    where id = ${expired.id}`
  const { invites } = await ben.invites.list({ workspaceId })
  expect(invites).toEqual([
    {
      id: second.id,
      role: 'member',
      uses: 1,
      maxUses: null,
      createdBy: 'l-ben',
      createdAt: expect.any(String),
      expiresAt: second.expiresAt,
    },
    expect.objectContaining({ id: first.id, role: 'admin', uses: 1, maxUses: 1 }),
  ])
  expect(await owner.invites.list({ workspaceId, limit: 1, offset: 1 })).toEqual({
    invites: invites.slice(1),
    nextCursor: null,
  })
  expect(await refusal(cem.invites.list({ workspaceId }))).toEqual(forbidden)
  expect(await refusal(cem.invites.revoke({ workspaceId, inviteId: first.id }))).toEqual(forbidden)
})

test('a revoked invite admits no one, and those who joined by it stay', async () => {
  const { owner, workspaceId } = await workspaceOf('r-ana')
  const other = await workspaceOf('r-other')
  const [ben, cem] = await world().users('r-ben', 'r-cem')
  const { id: inviteId, token } = await owner.invites.create({ workspaceId })
  const kept = await owner.invites.create({ workspaceId })
  await ben.invites.accept({ token })
  const elsewhere = { workspaceId: other.workspaceId, inviteId }
  expect(await refusal(other.owner.invites.revoke(elsewhere))).toEqual(notFound)
  expect(await owner.invites.revoke({ workspaceId, inviteId })).toEqual({ success: true })
  expect(await refusal(cem.invites.accept({ token }))).toEqual(notFound)
  expect(await refusal(owner.invites.revoke({ workspaceId, inviteId }))).toEqual(notFound)
  const { invites } = await owner.invites.list({ workspaceId })
  expect(invites.map(({ id }) => id)).toEqual([kept.id])
  expect(await memberCount(workspaceId)).toBe(2)
  await cem.invites.accept({ token: kept.token })
})

test('the invites of an admin who was removed, deleted or demoted are void', async () => {
  const { owner, workspaceId } = await workspaceOf('v-ana')
  const admins = await world().users('v-removed', 'v-deleted', 'v-demoted')
  const eve = await world().user('v-eve')
  const joinAsAdmin = async (admin: (typeof admins)[number]) => {
    const { token } = await owner.invites.create({ workspaceId, role: 'admin' })
    await admin.invites.accept({ token })
  }
  for (const admin of admins) await joinAsAdmin(admin)
  const [removed, deleted, demoted] = admins
  const kept = await owner.invites.create({ workspaceId })
  const made = await Promise.all(admins.map((admin) => admin.invites.create({ workspaceId })))
  await owner.workspaces.removeMember({ workspaceId, userId: removed.id })
  await world().backend.users.delete({ userId: deleted.id })
  await world().db`
    update workspace_members
    set role = 'member'
    where workspace_id = ${workspaceId}
      and user_id = ${demoted.id}`
  const voided = new Set(made.map(({ id }) => id))
  const listed = async () =>
    (await owner.invites.list({ workspaceId })).invites.filter(({ id }) => voided.has(id))
  expect(await listed()).toEqual([])
  await joinAsAdmin(removed)
  expect(await listed()).toEqual([])
  await eve.invites.accept({ token: kept.token })
  for (const { token } of made)
    expect(await refusal(eve.invites.accept({ token }))).toEqual(notFound)
  const forOwners = await owner.invites.create({ workspaceId, role: 'owner' })
  await world().db`
    update workspace_members
    set role = 'admin'
    where workspace_id = ${workspaceId}
      and user_id = 'v-ana'`
  expect(await refusal(eve.invites.accept(forOwners))).toEqual(notFound)
})
