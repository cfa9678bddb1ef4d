import { contract, limits, type Output } from '@parley/contract'
import { auditedUrl, noteAct } from '../core/audit.ts'
import { ApiError } from '../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../core/operation.ts'
import { newWebhookSecret } from '../core/signed-request.ts'
import type { Tx } from '../db/client.ts'
import { requireUrl } from './webhooks/url.ts'

/** The columns of hook `bsh` that its app sees. */
const hookColumns = (db: Tx) => db`bsh.url, bsh.on_error, bsh.timeout_ms, bsh.created_at`

type HookWithSecret = Output<typeof contract.hooks.setBeforeSend>
const setBeforeSend = implement(
  contract.hooks.setBeforeSend,
  async (ctx, { url, onError, timeoutMs }) => {
    const { db, caller, services } = ctx
    requireUrl(services, url)
    const [hook] = await db<HookWithSecret[]>`
      insert into before_send_hooks as bsh (app_id, url, on_error, timeout_ms, secret)
      values (${caller.appId}, ${url}, ${onError}, ${timeoutMs}, ${newWebhookSecret()})
      on conflict (app_id) do update set
        url = excluded.url,
        on_error = excluded.on_error,
        timeout_ms = excluded.timeout_ms
      returning ${hookColumns(db)}, bsh.secret`
    noteAct(ctx, {
      operation: 'hooks.setBeforeSend',
      target: { url: auditedUrl(url), onError, timeoutMs },
    })
    return requireHook(hook)
  },
)

const getBeforeSend = implementWithoutTransaction(
  contract.hooks.getBeforeSend,
  async ({ db, caller }) => {
    const [hook] = await db<Output<typeof contract.hooks.getBeforeSend>[]>`
      select ${hookColumns(db)}
      from before_send_hooks bsh
      where bsh.app_id = ${caller.appId}`
    return requireHook(hook)
  },
)

const deleteBeforeSend = implement(contract.hooks.deleteBeforeSend, async (ctx) => {
  const [hook] = await ctx.db<{ appId: string }[]>`
    delete from before_send_hooks
    where app_id = ${ctx.caller.appId}
    returning app_id`
  requireHook(hook)
  noteAct(ctx, { operation: 'hooks.deleteBeforeSend', target: {} })
  return { success: true }
})

const rotateBeforeSend = implement(contract.hooks.rotateBeforeSend, async (ctx) => {
  const { db, caller } = ctx
  const [hook] = await db<HookWithSecret[]>`
    update before_send_hooks bsh
    set
      secret = ${newWebhookSecret()},
      previous_secret = bsh.secret,
      previous_secret_expires_at =
        now() + ${limits.webhooks.rotationHours} * interval '1 hour'
    where bsh.app_id = ${caller.appId}
    returning ${hookColumns(db)}, bsh.secret`
  requireHook(hook)
  noteAct(ctx, { operation: 'hooks.rotateBeforeSend', target: {} })
  return requireHook(hook)
})

export const hooks = {
  setBeforeSend,
  getBeforeSend,
  deleteBeforeSend,
  rotateBeforeSend,
} satisfies Implements<'hooks'>

function requireHook<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new ApiError('NOT_FOUND', 'No before-send hook is set')
  return row
}
