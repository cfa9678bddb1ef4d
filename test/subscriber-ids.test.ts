import { checkSubscriberIds } from '@parley/server/jobs/push/subscriber-ids'
import { expect, test } from 'vitest'
import { silentLog } from './support/jobs.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const push = { tenantId: undefined }

/** The warnings of a start. */
const warnings = async (settings: Parameters<typeof checkSubscriberIds>[0]['push']) => {
  const lines: object[] = []
  const warn = (facts: object, message: string) => void lines.push({ ...facts, message })
  await checkSubscriberIds({ db: world().pool, push: settings, log: { ...silentLog, warn } })
  return lines
}
const withDevice = async (id: string) => {
  const user = await world().user(id)
  await user.devices.create({ platform: 'ios', provider: 'apns', token: `token of ${id}` })
}

test('a start warns of a tenant, whose colon Novu may refuse', async () => {
  expect(await warnings({ tenantId: 'acme' })).toContainEqual({
    tenantId: 'acme',
    message: 'PUSH_TENANT_ID puts a colon into subscriber ids: Novu may refuse it',
  })
})

test('a start warns of user ids that Novu may refuse, once one of them has a device', async () => {
  for (const id of ['ana', 'Ben_2.x-y', 'cleo@example.com']) await withDevice(id)
  await world().user('auth0|dan')
  expect(await warnings(push)).toEqual([])
  const { db, appId } = world()
  await db`
    insert into devices (id, app_id, user_id, platform, provider, token)
    select
      ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
      ${appId}, 'ana', 'ios', 'apns', 'device ' || n
    from generate_series(1, 1000) n`
  await withDevice('auth0|emil')
  const unusual = {
    userId: 'auth0|emil',
    message: 'user ids with unusual characters: Novu may refuse their pushes',
  }
  expect(await warnings(push)).toEqual([unusual])
  expect(await warnings({ tenantId: 'acme' })).toEqual([
    expect.objectContaining({ tenantId: 'acme' }),
    unusual,
  ])
  expect(await warnings(undefined)).toEqual([])
})
