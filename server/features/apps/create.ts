import { v7 as uuidv7 } from 'uuid'
import { newApiKey } from '../../core/api-keys.ts'
import { sha256 } from '../../core/hash.ts'
import type { Tx } from '../../db/client.ts'

/** A new app with its first key, which is stored as a hash only. */
export async function createApp(db: Tx, name: string, apiKey = newApiKey()) {
  const id = uuidv7()
  const keyId = uuidv7()
  const [row] = await db<{ createdAt: string }[]>`
    with app as (
      insert into apps (id, name)
      values (${id}, ${name})
      returning created_at
    ),
    key as (
      insert into api_keys (id, app_id, hash, name)
      values (${keyId}, ${id}, ${sha256(apiKey)}, 'First key')
    )
    select created_at
    from app`
  if (!row) throw new Error('the insert of an app returned no row')
  return { id, name, apiKey, keyId, createdAt: row.createdAt }
}
