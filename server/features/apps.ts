import { randomBytes } from 'node:crypto'
import { contract } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../db/client.ts'
import { type Implements, implement } from '../implement.ts'
import { sha256 } from '../tokens.ts'

const create = implement(contract.apps.create, ({ db }, { name }) => createApp(db, name))

export const apps = { create } satisfies Implements<'apps'>

/** A new app with its first key, which is stored as a hash only. */
export async function createApp(db: Tx, name: string, apiKey = newApiKey()) {
  const id = uuidv7()
  const [row] = await db<{ createdAt: string }[]>`
    with app as (insert into apps (id, name) values (${id}, ${name}) returning created_at),
      key as (insert into api_keys (id, app_id, hash) values (${uuidv7()}, ${id}, ${sha256(apiKey)}))
    select created_at from app`
  if (!row) throw new Error('the insert of an app answered no row')
  return { id, name, apiKey, createdAt: row.createdAt }
}

export const newApiKey = () => `pk_${randomBytes(24).toString('base64url')}`
