import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { invalid, notFound, refusal } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const android = { platform: 'android', provider: 'fcm' } as const

type Device = { id: string; token: string; deviceId: string | null; appVersion: string | null }
const devicesOf = (userId: string) => world().db<Device[]>`
  select id, token, device_id, app_version, updated_at > created_at as is_updated
  from devices
  where user_id = ${userId} and app_id = ${world().appId}
  order by id`

test('registering the same push token again updates the device', async () => {
  const ana = await world().user('ana')
  const first = await ana.devices.create({ ...android, token: 'one', appVersion: '1.0' })
  expect(first).toMatchObject(android)
  expect(
    await ana.devices.create({
      platform: 'ios',
      provider: 'apns',
      token: 'one',
      appVersion: '2.0',
    }),
  ).toEqual({
    ...first,
    platform: 'ios',
    provider: 'apns',
  })
  expect(await devicesOf('ana')).toMatchObject([
    { id: first.id, token: 'one', appVersion: '2.0', isUpdated: true },
  ])
})

test('every platform registers with every provider, and no push token is shown', async () => {
  const hal = await world().user('hal')
  for (const platform of ['ios', 'android', 'relay']) {
    for (const provider of ['fcm', 'apns', 'relay']) {
      const { status, body } = await rest(world(), hal)('POST', '/api/devices', {
        platform,
        provider,
        token: `hal-${platform}-${provider}`,
      })
      expect({ status, body }).toEqual({
        status: 201,
        body: {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          platform,
          provider,
          createdAt: expect.any(String),
        },
      })
    }
  }
})

test('a device with a new push token keeps its registration', async () => {
  const ben = await world().user('ben')
  const phone = await ben.devices.create({ ...android, token: 'ben-1', deviceId: 'phone' })
  await ben.devices.create({ ...android, token: 'ben-2' })
  expect((await ben.devices.create({ ...android, token: 'ben-2', deviceId: 'phone' })).id).toBe(
    phone.id,
  )
  expect(await devicesOf('ben')).toMatchObject([
    { id: phone.id, token: 'ben-2', deviceId: 'phone' },
  ])
})

test('a device that takes over an older push token keeps its registration', async () => {
  const lea = await world().user('lea')
  await lea.devices.create({ ...android, token: 'lea-1' })
  const phone = await lea.devices.create({ ...android, token: 'lea-2', deviceId: 'phone' })
  expect((await lea.devices.create({ ...android, token: 'lea-1', deviceId: 'phone' })).id).toBe(
    phone.id,
  )
  expect(await devicesOf('lea')).toMatchObject([
    { id: phone.id, token: 'lea-1', deviceId: 'phone' },
  ])
})

test('a push token that is registered again without a device keeps its device', async () => {
  const kim = await world().user('kim')
  await kim.devices.create({ ...android, token: 'kim-1', deviceId: 'phone' })
  await kim.devices.create({ ...android, token: 'kim-1' })
  expect(await devicesOf('kim')).toMatchObject([{ token: 'kim-1', deviceId: 'phone' }])
})

test('a push token moves to its new user, but not across apps', async () => {
  const [cem, dora] = await world().users('cem', 'dora')
  await cem.devices.create({ ...android, token: 'shared', deviceId: 'tablet' })
  await dora.devices.create({ ...android, token: 'shared' })
  expect(await devicesOf('cem')).toEqual([])
  expect(await devicesOf('dora')).toMatchObject([{ token: 'shared', deviceId: null }])
  const { token } = await (await world().stranger()).tokens.create({ userId: 'cem' })
  await world()
    .api({ token })
    .devices.create({ ...android, token: 'shared' })
  expect(await devicesOf('dora')).toHaveLength(1)
})

test('a push token may be long, if not too long for an index', async () => {
  const noa = await world().user('noa')
  const longest = randomBytes(1_536).toString('base64')
  await noa.devices.create({ ...android, token: longest })
  expect((await devicesOf('noa')).map(({ token }) => token)).toEqual([longest])
  for (const token of [`${longest}x`, '🎈'.repeat(600)])
    expect(await refusal(noa.devices.create({ ...android, token }))).toEqual(invalid)
})

test('a user has at most 25 devices, and known ones can still be updated', async () => {
  const eli = await world().user('eli')
  const answers = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) =>
      eli.devices.create({ ...android, token: `eli-${index}` }),
    ),
  )
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(25)
  const [known] = await devicesOf('eli')
  expect((await eli.devices.create({ ...android, token: known?.token ?? '' })).id).toBe(known?.id)
  expect(await refusal(eli.devices.create({ ...android, token: 'one-too-many' }))).toEqual(invalid)
})

test('a push token of another user counts towards the limit too', async () => {
  const [ivo, jan] = await world().users('ivo', 'jan')
  for (let index = 0; index < 25; index++)
    await ivo.devices.create({ ...android, token: `ivo-${index}` })
  await jan.devices.create({ ...android, token: 'of-jan' })
  expect(await refusal(ivo.devices.create({ ...android, token: 'of-jan' }))).toEqual(invalid)
  expect(await devicesOf('jan')).toMatchObject([{ token: 'of-jan' }])
  expect(await devicesOf('ivo')).toHaveLength(25)
})

test('a push token registered by ten users at once belongs to one of them', async () => {
  const users = await world().users(...Array.from({ length: 10 }, (_, index) => `race-${index}`))
  await Promise.all(
    users.map((user) => user.devices.create({ ...android, token: 'wanted', deviceId: 'pad' })),
  )
  expect(
    await world().db`
      select
      from devices
      where token = 'wanted'`,
  ).toHaveLength(1)
})

test('only its owner removes a device, by its id or its deviceId', async () => {
  const [fay, gus] = await world().users('fay', 'gus')
  const { id } = await fay.devices.create({ ...android, token: 'fay-1', deviceId: 'watch' })
  await fay.devices.create({ ...android, token: 'fay-2', deviceId: 'a/b c' })
  for (const deviceId of [id, 'watch'])
    expect(await refusal(gus.devices.delete({ deviceId }))).toEqual(notFound)
  expect(await fay.devices.delete({ deviceId: id.toUpperCase() })).toEqual({ success: true })
  expect(await refusal(fay.devices.delete({ deviceId: 'watch' }))).toEqual(notFound)
  expect(await fay.devices.delete({ deviceId: 'a/b c' })).toEqual({ success: true })
  expect(await devicesOf('fay')).toEqual([])
})

test.each([
  { platform: 'windows', provider: 'fcm', token: 't' },
  { platform: 'ios', provider: 'smoke', token: 't' },
  { platform: 'ios', provider: 'apns', token: '' },
  { platform: 'ios', provider: 'apns' },
  { platform: 'ios', provider: 'apns', token: 't', deviceId: '' },
  { platform: 'ios', provider: 'apns', token: 'x'.repeat(5_000) },
])('registering the device %j is refused', async (device) => {
  expect(await refusal((await world().user('ana')).devices.create(device as never))).toEqual(
    invalid,
  )
})
