import { contract, defaultPreferences, type Preferences } from '@parley/contract'
import { type Implements, implement, implementWithoutConnection } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { lockCallerForShare } from './channels/access.ts'

type PreferencesRow = { chosen: Partial<Preferences> }

const get = implementWithoutConnection(
  contract.preferences.get,
  async ({ read, caller: { appId, userId }, services }) => {
    const [[row], providerPreferences] = await Promise.all([
      read((db) => selectPreferences(db, appId, userId)),
      services.providerPreferences(userId),
    ])
    return { preferences: { ...defaultPreferences, ...row?.chosen }, providerPreferences }
  },
)

const update = implement(contract.preferences.update, async (ctx, patch) => {
  await lockCallerForShare(ctx)
  const [row] = await mergePreferences(ctx.db, { ...ctx.caller, patch })
  return { preferences: { ...defaultPreferences, ...row?.chosen } }
})

export const preferences = { get, update } satisfies Implements<'preferences'>

const selectPreferences = (db: Tx, appId: string, userId: string) => db<PreferencesRow[]>`
  select chosen
  from preferences
  where app_id = ${appId}
    and user_id = ${userId}`

type MergeInput = { appId: string; userId: string; patch: Partial<Preferences> }

const mergePreferences = (db: Tx, input: MergeInput) => db<PreferencesRow[]>`
  insert into preferences as pref (app_id, user_id, chosen)
  values (${input.appId}, ${input.userId}, ${db.json(input.patch)})
  on conflict (app_id, user_id) do update set
    chosen = pref.chosen || excluded.chosen,
    updated_at = clock_timestamp()
  returning chosen`
