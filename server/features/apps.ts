import { contract, type Output } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { newApiKey } from '../core/api-keys.ts'
import { ApiError } from '../core/errors.ts'
import { sha256 } from '../core/hash.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import type { Tx } from '../db/client.ts'
import { isoTime } from '../db/sql.ts'

type ListedApps = Output<typeof contract.apps.list>['apps']

const list = implementWithoutTransaction(contract.apps.list, async ({ db }, { limit, offset }) => {
  const key = db`jsonb_build_object('id', ak.id, 'createdAt', ${isoTime(db, db`ak.created_at`)})`
  const apps = await db<ListedApps>`
    select
      a.id, a.name, a.created_at,
      coalesce((
        select jsonb_agg(${key} order by ak.id)
        from api_keys ak
        where ak.app_id = a.id
      ), '[]') as keys
    from apps a
    order by a.id
    limit ${limit}
    offset ${offset}`
  return { apps }
})

const create = implement(contract.apps.create, ({ db }, { name }) => createApp(db, name))

const createKey = implement(contract.apps.createKey, async ({ db }, { appId }) => {
  const apiKey = newApiKey()
  const [key] = await db<{ id: string; createdAt: string }[]>`
    insert into api_keys (id, app_id, hash)
    select ${uuidv7()}, id, ${sha256(apiKey)}
    from apps
    where id = ${appId}
    returning id, created_at`
  if (!key) throw new ApiError('NOT_FOUND', 'App not found')
  return { ...key, apiKey }
})

const deleteKey = implement(
  contract.apps.deleteKey,
  async ({ db, services, afterCommit }, { appId, keyId }) => {
    const [deleted] = await db<{ hash: string }[]>`
      delete from api_keys
      where id = ${keyId}
        and app_id = ${appId}
      returning hash`
    if (!deleted) throw new ApiError('NOT_FOUND', 'API key not found')
    afterCommit(() => services.revocations.publish({ keyHash: deleted.hash }))
    return { success: true }
  },
)

export const apps = { list, create, createKey, deleteKey } satisfies Implements<'apps'>

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
      insert into api_keys (id, app_id, hash)
      values (${keyId}, ${id}, ${sha256(apiKey)})
    )
    select created_at
    from app`
  if (!row) throw new Error('the insert of an app returned no row')
  return { id, name, apiKey, keyId, createdAt: row.createdAt }
}
