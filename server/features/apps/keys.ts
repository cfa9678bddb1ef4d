import { contract, limits, type Output } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { newApiKey } from '../../core/api-keys.ts'
import { noteAct } from '../../core/audit.ts'
import { ApiError } from '../../core/errors.ts'
import { sha256 } from '../../core/hash.ts'
import { implement, implementWithoutTransaction } from '../../core/operation.ts'
import { appNotFound, keyColumns, requireApp } from './view.ts'

type Key = Output<typeof contract.apps.updateKey>

export const listKeys = implementWithoutTransaction(
  contract.apps.listKeys,
  async ({ db }, { appId }) => {
    await requireApp(db, appId)
    const keys = await db<Key[]>`
      select ${keyColumns(db)}
      from api_keys ak
      where ak.app_id = ${appId}
      order by ak.id`
    return { keys }
  },
)

export const createKey = implement(
  contract.apps.createKey,
  async (ctx, { appId, name = null, scopes, expiresAt = null }) => {
    const { db } = ctx
    // Keys of an app are created one at a time, so the limit holds.
    const [app] = await db<{ isTooLate: boolean | null }[]>`
      select ${expiresAt}::timestamptz <= now() as is_too_late
      from apps a
      where a.id = ${appId}
        and num_nulls(a.deleted_at) = 1
      for no key update`
    if (!app) throw appNotFound()
    if (app.isTooLate) throw new ApiError('VALIDATION_ERROR', 'expiresAt: expected a future time')
    const apiKey = newApiKey()
    const [key] = await db<Key[]>`
      insert into api_keys as ak (id, app_id, hash, name, scopes, expires_at)
      select
        ${uuidv7()}, ${appId}, ${sha256(apiKey)},
        ${name}, ${[...new Set(scopes)]}::text[], ${expiresAt}
      where (
        select count(*)
        from api_keys other
        where other.app_id = ${appId}
      ) < ${limits.apiKeys}
      returning ${keyColumns(db)}`
    if (!key)
      throw new ApiError('VALIDATION_ERROR', `An app can have at most ${limits.apiKeys} API keys`)
    noteAct(ctx, {
      operation: 'apps.createKey',
      appId,
      target: { keyId: key.id, name: key.name, scopes: key.scopes, expiresAt: key.expiresAt },
    })
    return { ...key, apiKey }
  },
)

export const updateKey = implement(
  contract.apps.updateKey,
  async (ctx, { appId, keyId, name, scopes, expiresAt }) => {
    const { db, services } = ctx
    await requireApp(db, appId)
    const [key] = await db<(Key & { hash: string })[]>`
      update api_keys ak
      set
        name = case when ${name !== undefined} then ${name ?? null} else ak.name end,
        scopes = coalesce(${scopes ? [...new Set(scopes)] : null}::text[], ak.scopes),
        expires_at = case
          when ${expiresAt !== undefined} then ${expiresAt ?? null}::timestamptz
          else ak.expires_at
        end
      where ak.id = ${keyId}
        and ak.app_id = ${appId}
      returning ${keyColumns(db)}, ak.hash`
    if (!key) throw keyNotFound()
    const { hash, ...changed } = key
    if ([name, scopes, expiresAt].some((given) => given !== undefined))
      noteAct(ctx, {
        operation: 'apps.updateKey',
        appId,
        target: { keyId, name: key.name, scopes: key.scopes, expiresAt: key.expiresAt },
      })
    ctx.afterCommit(() => services.revocations.publish({ keyHash: hash }))
    return changed
  },
)

export const deleteKey = implement(contract.apps.deleteKey, async (ctx, { appId, keyId }) => {
  const { db, services } = ctx
  await requireApp(db, appId)
  const [deleted] = await db<{ hash: string }[]>`
    delete from api_keys
    where id = ${keyId}
      and app_id = ${appId}
    returning hash`
  if (!deleted) throw keyNotFound()
  noteAct(ctx, { operation: 'apps.deleteKey', appId, target: { keyId } })
  ctx.afterCommit(() => services.revocations.publish({ keyHash: deleted.hash }))
  return { success: true }
})

const keyNotFound = () => new ApiError('NOT_FOUND', 'API key not found')
