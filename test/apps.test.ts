import { expect, test } from 'vitest'
import { invalid, refusal, unauthorized } from './support/refusal.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()

test('the operator makes an app, whose key works at once and is kept as a hash only', async () => {
  const { api, db } = world()
  const app = await api({ adminKey: ADMIN_KEY }).apps.create({ name: 'Acme Talk' })
  expect(app.name).toBe('Acme Talk')
  expect((await api({ apiKey: app.apiKey }).tokens.create({ userId: 'ana' })).appId).toBe(app.id)
  const [kept] = await db<{ tables: string }[]>`select jsonb_build_array((select jsonb_agg(k) from api_keys k), (select jsonb_agg(a) from apps a))::text as tables`
  expect(kept?.tables).toContain(app.id)
  expect(kept?.tables).not.toContain(app.apiKey)
})

test('apps of one name are different apps', async () => {
  const operator = world().api({ adminKey: ADMIN_KEY })
  const [one, two] = await Promise.all([operator.apps.create({ name: 'Twin' }), operator.apps.create({ name: 'Twin' })])
  expect(one.id).not.toBe(two.id)
  expect(one.apiKey).not.toBe(two.apiKey)
})

test('making apps is for the operator', async () => {
  const { api, apiKey, user } = world()
  const { token } = await user('ana')
  for (const credentials of [{}, { adminKey: '' }, { adminKey: `${ADMIN_KEY}x` }, { apiKey }, { token }]) {
    expect(await refusal(api(credentials).apps.create({ name: 'Mine' }))).toEqual(unauthorized)
  }
})

test('an app has a name of 1 to 255 characters', async () => {
  const operator = world().api({ adminKey: ADMIN_KEY })
  for (const name of ['', 'x'.repeat(256), undefined as unknown as string]) expect(await refusal(operator.apps.create({ name }))).toEqual(invalid)
  expect((await operator.apps.create({ name: '🦄'.repeat(255) })).name).toBe('🦄'.repeat(255))
})
