import type { AppSettings, KeyScope } from '@parley/contract'
import type { Fragment, Tx } from '../db/client.ts'

/** The operator's settings of an app that matter to each call. */
export type AppFacts = Pick<AppSettings, 'userAdminAccess'> & {
  isDisabled: boolean
  rateLimits: Partial<AppSettings['rateLimits']> | null
}
export type KeyFacts = AppFacts & { appId: string; keyId: string; scopes: KeyScope[] }

/** The columns of app `a` for AppFacts. */
export const appFacts = (db: Tx): Fragment => db`
  a.disabled_at is not null as is_disabled,
  a.user_admin_access,
  a.rate_limits`
