import { systemUserId, type UserSummary } from '@parley/contract'
import type { Tx } from '../db/client.ts'

/** The author of system messages, and the creator of channels that a backend creates. */
export const SYSTEM_USER: UserSummary = { id: systemUserId, name: 'System', image: null }

/**
 * Messages and channels must refer to a row of `users`. This one is marked as deleted from the
 * start, so nobody can be or act as this user.
 */
export const insertSystemUser = (db: Tx, appId: string) => db`
  insert into users (app_id, id, deleted_at, forgotten_at)
  values (${appId}, ${systemUserId}, now(), now())
  on conflict do nothing`
