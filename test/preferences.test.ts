import { defaultPreferences } from '@parley/contract'
import { expect, test } from 'vitest'
import { invalid, refusal } from './support/refusal.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

test('a new user has the default preferences', async () => {
  const ana = await world().user('ana')
  expect(await ana.preferences.get()).toEqual({
    preferences: defaultPreferences,
    providerPreferences: { channels: [], workflows: [] },
  })
  expect(defaultPreferences).toEqual({
    pushEnabled: true,
    newMessages: true,
    mentions: true,
    reactions: true,
    channelInvites: true,
    threadReplies: true,
    quietHoursEnabled: false,
    quietHoursStart: '22:00',
    quietHoursEnd: '08:00',
    timezone: 'UTC',
  })
})

test('every preference can be changed', async () => {
  const fay = await world().user('fay')
  const changed = {
    pushEnabled: false,
    newMessages: false,
    mentions: false,
    reactions: false,
    channelInvites: false,
    threadReplies: false,
    quietHoursEnabled: true,
    quietHoursStart: '00:00',
    quietHoursEnd: '23:59',
    timezone: 'Asia/Tokyo',
  }
  expect(Object.keys(changed)).toEqual(Object.keys(defaultPreferences))
  expect(await fay.preferences.update(changed)).toEqual({ preferences: changed })
  expect((await fay.preferences.get()).preferences).toEqual(changed)
})

test('a change keeps the other preferences and affects no other user', async () => {
  const [ben, cem] = await world().users('ben', 'cem')
  await ben.preferences.update({ mentions: false, quietHoursStart: '23:59' })
  const changed = {
    ...defaultPreferences,
    mentions: false,
    quietHoursStart: '23:59',
    timezone: 'Europe/Berlin',
  }
  expect(await ben.preferences.update({ timezone: 'Europe/Berlin' })).toEqual({
    preferences: changed,
  })
  expect(await ben.preferences.update({})).toEqual({ preferences: changed })
  expect((await ben.preferences.get()).preferences).toEqual(changed)
  expect((await cem.preferences.get()).preferences).toEqual(defaultPreferences)
})

test('the last choice of a preference counts', async () => {
  const user = await world().user('fickle')
  for (const mentions of [false, true, false]) {
    expect((await user.preferences.update({ mentions })).preferences.mentions).toBe(mentions)
    expect((await user.preferences.get()).preferences.mentions).toBe(mentions)
  }
})

test('concurrent changes of different preferences are all kept', async () => {
  const dora = await world().user('dora')
  await Promise.all([
    dora.preferences.update({ mentions: false }),
    dora.preferences.update({ reactions: false }),
    dora.preferences.update({ newMessages: false }),
  ])
  expect((await dora.preferences.get()).preferences).toMatchObject({
    mentions: false,
    reactions: false,
    newMessages: false,
    pushEnabled: true,
  })
})

test.each([
  { sound: true },
  { mentions: 'yes' },
  { mentions: null },
  { quietHoursStart: '24:00' },
  { quietHoursEnd: '8:00' },
  { quietHoursEnd: '08:60' },
  { timezone: 'Mars/Olympus' },
  { timezone: '+02:00' },
  { timezone: '' },
  { mentions: false, unknown: 1 },
])('the preferences %j are refused and change nothing', async (patch) => {
  const eve = await world().user('eve')
  expect(await refusal(eve.preferences.update(patch as never))).toEqual(invalid)
  expect((await eve.preferences.get()).preferences).toEqual(defaultPreferences)
})
