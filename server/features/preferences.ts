import { contract, defaultPreferences, type Preferences } from '@parley/contract'
import { type Implements, implement, implementWithoutConnection } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { lockCallerForShare } from './access.ts'

const get = implementWithoutConnection(
  contract.preferences.get,
  async ({ read, caller: { appId, userId }, services }) => {
    const [[row], providerPreferences] = await Promise.all([
      read(
        (db) =>
          db<
            { chosen: Partial<Preferences> }[]
          >`select chosen from preferences where app_id = ${appId} and user_id = ${userId}`,
      ),
      services.providerPreferences(userId),
    ])
    return { preferences: { ...defaultPreferences, ...row?.chosen }, providerPreferences }
  },
)

const update = implement(contract.preferences.update, async (ctx, patch) => {
  await lockCallerForShare(ctx)
  const [row] = await merge(ctx.db, { ...ctx.caller, patch })
  return { preferences: { ...defaultPreferences, ...row?.chosen } }
})

export const preferences = { get, update } satisfies Implements<'preferences'>

const merge = (
  db: Tx,
  { appId, userId, patch }: { appId: string; userId: string; patch: Partial<Preferences> },
) => db<{ chosen: Partial<Preferences> }[]>`
  insert into preferences as p (app_id, user_id, chosen) values (${appId}, ${userId}, ${db.json(patch)})
  on conflict (app_id, user_id) do update set chosen = p.chosen || excluded.chosen, updated_at = clock_timestamp()
  returning chosen`
