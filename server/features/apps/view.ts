import type { App, AppSettings } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import type { Fragment, Tx } from '../../db/client.ts'
import { isoTime } from '../../db/sql.ts'

type AppRow = Omit<App, 'enabled' | 'settings'> &
  Pick<AppSettings, 'messageRetentionDays' | 'userAdminAccess'> & {
    rateLimits: Partial<AppSettings['rateLimits']> | null
  }

/** Apps that are not deleted. `which` is a condition on rows `a`; it may end in order and limit. */
export async function selectApps(db: Tx, which: Fragment): Promise<App[]> {
  const rows = await db<AppRow[]>`
    select
      a.id, a.name, a.created_at, a.disabled_at,
      a.message_retention_days, a.user_admin_access, a.rate_limits,
      coalesce((
        select jsonb_agg(${keyAsJson(db)} order by ak.id)
        from api_keys ak
        where ak.app_id = a.id
      ), '[]') as keys
    from apps a
    where num_nulls(a.deleted_at) = 1
      and ${which}`
  return rows.map(({ messageRetentionDays, userAdminAccess, rateLimits, ...app }) => ({
    ...app,
    enabled: app.disabledAt === null,
    settings: {
      messageRetentionDays,
      userAdminAccess,
      rateLimits: {
        tokens: null,
        messages: null,
        requests: null,
        appends: null,
        appRequests: null,
        ...rateLimits,
      },
    },
  }))
}

export async function appById(db: Tx, appId: string) {
  const [app] = await selectApps(db, db`a.id = ${appId}`)
  if (!app) throw appNotFound()
  return app
}

/** Refuses ids of apps that do not exist. */
export async function requireApp(db: Tx, appId: string) {
  const [app] = await db`
    select
    from apps a
    where a.id = ${appId}
      and num_nulls(a.deleted_at) = 1`
  if (!app) throw appNotFound()
}

export const appNotFound = () => new ApiError('NOT_FOUND', 'App not found')

/** The columns of API key `ak` that the operator sees. */
export const keyColumns = (db: Tx) =>
  db`ak.id, ak.name, ak.scopes, ak.created_at, ak.last_used_at, ak.expires_at`

const keyAsJson = (db: Tx) => db`jsonb_build_object(
  'id', ak.id,
  'name', ak.name,
  'scopes', ak.scopes,
  'createdAt', ${isoTime(db, db`ak.created_at`)},
  'lastUsedAt', ${isoTime(db, db`ak.last_used_at`)},
  'expiresAt', ${isoTime(db, db`ak.expires_at`)}
)`
