import type { Fragment, Tx } from '../db/client.ts'
import { jsonOf } from '../db/sql.ts'
import { transaction } from '../db/transaction.ts'
import type { WriteContext } from './context.ts'

/** An act, as the log has it: ids and settings, never content. */
export type Act = { operation: string; appId?: string; target: Record<string, unknown> }
type ActContext = Pick<WriteContext, 'db' | 'queueWrite' | 'caller'>

/** Notes in the audit log what the caller does, in the transaction that does it. */
export const noteAct = ({ db, queueWrite, caller }: ActContext, act: Act) =>
  queueWrite(noteActOf(db, caller, act))

/** Notes an act that takes several calls; returns the id of its entry, for `isNoted`. */
export async function noteLongAct({ db, caller }: Omit<ActContext, 'queueWrite'>, act: Act) {
  const [entry] = await db<{ id: string }[]>`
    ${noteActOf(db, caller, act)}
    returning id::text as id`
  if (!entry) throw new Error('the audit log took no entry')
  return entry.id
}

/** Whether this entry is one of the caller's, of the last hours, about this act on this user. */
export async function isNoted(
  { db, caller }: Omit<ActContext, 'queueWrite'>,
  {
    id,
    operation,
    userId,
    hours,
  }: { id: string; operation: string; userId: string; hours: number },
) {
  const { appId = null, keyId } = actorOf(caller)
  const { count } = await db`
    select
    from audit aud
    where aud.id = ${id}::bigint
      and aud.app_id = ${appId}
      and aud.key_id is not distinct from ${keyId}
      and aud.operation = ${operation}
      and aud.target ->> 'userId' = ${userId}
      and aud.created_at > now() - ${hours} * interval '1 hour'`
  return count > 0
}

/** Notes what a caller does in one of several transactions. */
export function noteActOf(db: Tx, caller: ActContext['caller'], act: Act) {
  caller.onNoted?.(act.appId)
  return insertEntry(db, { ...actorOf(caller), ...act })
}

/** Notes what a job of the server has done. */
export const noteJob = (db: Tx, act: Act) =>
  insertEntry(db, { ...act, actor: 'system', keyId: null, userId: null, requestId: null })

/** Notes what the operator has done by a command of `parley`. */
export const noteCommand = (db: Tx, act: Act) =>
  insertEntry(db, { ...act, actor: 'operator', keyId: null, userId: null, requestId: null })

/** Notes that the operator has signed in to the console, with the admin key. */
export const noteSignIn = (db: Tx, { requestId, ip }: { requestId: string; ip: string }) =>
  insertEntry(db, {
    operation: 'console.signIn',
    target: { address: ip },
    actor: 'operator',
    keyId: null,
    userId: null,
    requestId,
  })

/** Deletes old entries: the database refuses it to every transaction that does not say this. */
export const deleteEntries = (db: Tx, ids: Fragment) =>
  transaction(db, async (tx) => {
    await tx`select set_config('parley.audit_retention', 'on', true)`
    return tx`
      delete from audit
      where id = any(array(${ids}))`
  })

/**
 * Where a URL leads, without its path and query: these may be a secret, as those of Slack's
 * webhooks, and an entry is kept for longer than the webhook.
 */
export function auditedUrl(url: string) {
  const { origin, pathname, search } = new URL(url)
  return `${origin}${pathname === '/' && search === '' ? '' : '/…'}`
}

type Actor = {
  actor: 'operator' | 'key' | 'user' | 'system'
  appId?: string
  keyId: string | null
  userId: string | null
  requestId: string | null
}

/** A backend may act as a user. */
function actorOf(caller: ActContext['caller']): Actor {
  const { requestId = null } = caller
  if (!('appId' in caller)) return { actor: 'operator', keyId: null, userId: null, requestId }
  const { appId, keyId = null } = caller
  const userId = 'userId' in caller ? caller.userId : null
  return { actor: keyId === null ? 'user' : 'key', appId, keyId, userId, requestId }
}

const insertEntry = (
  db: Tx,
  { appId, actor, keyId, userId, operation, target, requestId }: Actor & Act,
) => db`
  insert into audit (app_id, actor, key_id, user_id, operation, target, request_id)
  values (
    ${appId ?? null}, ${actor}, ${keyId}, ${userId},
    ${operation}, ${jsonOf(db, target)}, ${requestId}
  )`
