import { contract, defaultPreferences, type Output, type Preferences } from '@parley/contract'
import { implementWithoutTransaction } from '../../core/operation.ts'
import { userNotFound } from '../../core/refusals.ts'
import { requireApp } from '../apps/view.ts'

type InspectedDevice = Output<typeof contract.inspect.notifications>['devices'][number]
type UserRow = { chosen: Partial<Preferences> | null }

/** All that decides whether a user gets pushes, except for the channels that they have muted. */
export const notifications = implementWithoutTransaction(
  contract.inspect.notifications,
  async ({ db }, { appId, userId }) => {
    await requireApp(db, appId)
    const [[user], devices] = await Promise.all([
      db<UserRow[]>`
        select pref.chosen
        from users u
        left join preferences pref on pref.app_id = u.app_id and pref.user_id = u.id
        where u.app_id = ${appId}
          and u.id = ${userId}
          and u.deleted_at is null`,
      db<InspectedDevice[]>`
        select d.id, d.platform, d.provider, d.created_at
        from devices d
        where d.app_id = ${appId}
          and d.user_id = ${userId}
        order by d.id`,
    ])
    if (!user) throw userNotFound()
    return { preferences: { ...defaultPreferences, ...user.chosen }, devices }
  },
)
