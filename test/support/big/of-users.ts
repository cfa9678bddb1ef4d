import { limits } from '@parley/contract'
import { type Big, type Operations, WALKED } from './operation.ts'

/** Users, their devices, their push preferences, and their tokens. */
export async function ofUsers(big: Big): Promise<Operations> {
  const { ana, backend, counts, unique } = big
  const { nextCursor } = await backend.users.list({ limit: 100, offset: counts.users / 2 })
  const cursor = nextCursor ?? ''
  const ids = Array.from({ length: 100 }, (_, n) => `user-${n * 7}`)
  return {
    'users.list': { returned: 50, run: () => ana.users.list({ limit: 50 }) },
    'users.list, ids': { returned: 100, run: () => ana.users.list({ ids }) },
    'users.list, cursor': { returned: 50, run: () => ana.users.list({ limit: 50, cursor }) },
    'users.list, frequent q': {
      returned: 50,
      beside: WALKED,
      run: () => ana.users.list({ q: 'a', limit: 50 }),
    },
    'users.list, q of some': {
      returned: 50,
      beside: WALKED,
      grows: { of: 'the users with that name', count: counts.users / 250 },
      run: () => ana.users.list({ q: 'aei', limit: 50 }),
    },
    'users.list, rare q': {
      returned: 1,
      beside: WALKED,
      run: () => ana.users.list({ q: 'zzz', limit: 50 }),
    },
    'users.list, rare letter': {
      returned: 1,
      beside: WALKED,
      run: () => ana.users.list({ q: 'ж', limit: 50 }),
    },
    'users.get': { returned: 1, run: () => ana.users.get({ userId: 'user-7' }) },
    'users.put': { returned: 1, run: () => backend.users.put({ userId: 'ben', name: unique() }) },
    'users.sync': {
      returned: ids.length,
      // The lookup of users to notify of new names may run before or after the answer.
      beside: 6 * ids.length,
      run: () => backend.users.sync({ users: ids.map((id) => ({ id, name: unique() })) }),
    },
    'users.export': {
      returned: limits.exportPage,
      run: () => backend.users.export({ userId: 'busy' }),
    },
    'tokens.create': { returned: 1, run: () => backend.tokens.create({ userId: 'user-9' }) },
    'tokens.revoke': { returned: 1, run: () => backend.tokens.revoke({ userId: 'user-9' }) },
    'devices.create and devices.delete': {
      returned: 2,
      run: async () => {
        const token = unique()
        const { id } = await ana.devices.create({ platform: 'ios', provider: 'apns', token })
        await ana.devices.delete({ deviceId: id })
      },
    },
    'preferences.get': { returned: 1, run: () => ana.preferences.get({}) },
    'preferences.update': {
      returned: 1,
      run: () => ana.preferences.update({ mentions: true }),
    },
  }
}
