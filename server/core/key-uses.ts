import type { Db } from '../db/client.ts'
import { createTouches } from './touches.ts'

export type KeyUses = ReturnType<typeof createKeyUses>

/** Records when API keys were last used. */
export const createKeyUses = (db: Db) =>
  createTouches<string>({
    keyOf: (keyId) => keyId,
    entries: 10_000,
    // Keys that are being changed at the moment are skipped rather than waited for.
    write: (keyIds) =>
      db.use(
        (db) => db`
          update api_keys
          set last_used_at = now()
          where id = any(array(
            select ak.id
            from api_keys ak
            where ak.id = any(${keyIds}::uuid[])
            for no key update skip locked
          ))`,
      ),
  })
