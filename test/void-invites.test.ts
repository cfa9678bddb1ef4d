import { expect, test } from 'vitest'
import { notFound, refusal } from './support/refusal.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('removing an admin voids all their invites with few writes', async () => {
  const [owner, ben, cem] = await world().users('ana', 'ben', 'cem')
  const { id: workspaceId } = await owner.workspaces.create({ name: 'Acme', type: 'team' })
  const join = async () =>
    ben.invites.accept(await owner.invites.create({ workspaceId, role: 'admin' }))
  await join()
  await world().db`
    insert into workspace_invites (
      id, app_id, workspace_id, token_hash, role, created_by, expires_at
    )
    select
      gen_random_uuid(), ${world().appId}, ${workspaceId},
      encode(sha256(convert_to('many-' || n, 'utf8')), 'hex'), 'member', 'ben',
      now() + interval '1 day'
    from generate_series(1, 1500) n`
  await cem.invites.accept({ token: 'many-1500' })
  await owner.workspaces.removeMember({ workspaceId, userId: ben.id })
  const left = await world().db<{ n: number }[]>`
    select n
    from generate_series(1, 1500) n
    join workspace_invites wi
      on wi.token_hash = encode(sha256(convert_to('many-' || n, 'utf8')), 'hex')
      and wi.expires_at > now()`
  expect(left).toHaveLength(500)
  const token = `many-${left[0]?.n}`
  expect(await refusal(cem.invites.accept({ token }))).toEqual(notFound)
  await join()
  expect(await refusal(cem.invites.accept({ token }))).toEqual(notFound)
  const { invites } = await ben.invites.list({ workspaceId })
  expect(invites.map(({ createdBy }) => createdBy)).toEqual(['ana', 'ana'])
  expect(await cem.invites.accept(await ben.invites.create({ workspaceId }))).toHaveProperty(
    'workspace',
  )
})
