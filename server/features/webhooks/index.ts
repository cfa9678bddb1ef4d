import { contract, limits, type Webhook } from '@parley/contract'
import { v7 as uuidv7 } from 'uuid'
import { auditedUrl, noteAct } from '../../core/audit.ts'
import { ApiError } from '../../core/errors.ts'
import { type Implements, implement, implementWithoutTransaction } from '../../core/operation.ts'
import { newWebhookSecret } from '../../core/signed-request.ts'
import { replayKey } from '../../core/webhook-replays.ts'
import { deliveries, replay, retry, test } from './deliveries.ts'
import { resumeDeliveries } from './resume.ts'
import { requireUrl } from './url.ts'
import { requireWebhookRow, selectWebhooks, webhookColumns } from './view.ts'

const create = implement(contract.webhooks.create, async (ctx, { url, events, description }) => {
  requireUrl(ctx.services, url)
  const { appId } = ctx.caller
  // Webhooks of an app are created one at a time, so the limit holds.
  const [app] = await ctx.db`
    select
    from apps a
    where a.id = ${appId}
      and num_nulls(a.deleted_at) = 1
    for no key update`
  // Its key is no longer valid, although this call began before.
  if (!app) throw new ApiError('UNAUTHORIZED', 'The app was deleted')
  const secret = newWebhookSecret()
  const [webhook] = await ctx.db<Webhook[]>`
    insert into webhooks as wh (id, app_id, url, events, description, secret)
    select
      ${uuidv7()}, ${appId},
      ${url}, ${distinct(events)}::text[], ${description ?? null},
      ${secret}
    where (
      select count(*)
      from webhooks other
      where other.app_id = ${appId}
    ) < ${limits.webhooks.most}
    returning ${webhookColumns(ctx.db)}`
  if (!webhook)
    throw new ApiError(
      'VALIDATION_ERROR',
      `An app can have at most ${limits.webhooks.most} webhooks`,
    )
  noteAct(ctx, {
    operation: 'webhooks.create',
    target: { webhookId: webhook.id, url: auditedUrl(url), events },
  })
  return { ...webhook, secret }
})

const list = implementWithoutTransaction(contract.webhooks.list, async ({ db, caller }) => ({
  webhooks: await selectWebhooks(db, caller.appId),
}))

const update = implement(
  contract.webhooks.update,
  async (ctx, { webhookId, url, events, description, enabled }) => {
    const { db, caller, services } = ctx
    if (url !== undefined) requireUrl(services, url)
    await resumeDeliveries(db, {
      ...{ appId: caller.appId, webhookId },
      ...(enabled !== undefined && { enabled }),
      ...(url !== undefined && { url }),
    })
    const isEnabledAgain = db`(${enabled === true} and not wh.enabled)`
    const isAnother = db`(${url ?? null}::text is distinct from wh.url and ${url !== undefined})`
    const [webhook] = await db<Webhook[]>`
      update webhooks wh
      set
        url = coalesce(${url ?? null}, wh.url),
        events = coalesce(${events ? distinct(events) : null}::text[], wh.events),
        description = case
          when ${description !== undefined} then ${description ?? null}
          else wh.description
        end,
        enabled = coalesce(${enabled ?? null}::boolean, wh.enabled),
        disabled_reason = case when ${enabled === undefined} then wh.disabled_reason end,
        active_since = case when ${isEnabledAgain} then now() else wh.active_since end,
        failing_since = case
          when ${isEnabledAgain} or ${isAnother} then null
          else wh.failing_since
        end
      where wh.id = ${webhookId}
        and wh.app_id = ${caller.appId}
        and (
          select num_nulls(a.deleted_at) = 1
          from apps a
          where a.id = wh.app_id
        )
      returning ${webhookColumns(db)}`
    if ([url, events, description, enabled].some((given) => given !== undefined))
      noteAct(ctx, {
        operation: 'webhooks.update',
        target: { webhookId, url: url && auditedUrl(url), events, enabled },
      })
    return requireWebhookRow(webhook)
  },
)

const remove = implement(contract.webhooks.delete, async (ctx, { webhookId }) => {
  const [deleted] = await ctx.db<{ id: string }[]>`
    with forgotten as (
      delete from service
      where key in (
        select ${replayKey('')} || wh.id
        from webhooks wh
        where wh.id = ${webhookId}
          and wh.app_id = ${ctx.caller.appId}
      )
    )
    delete from webhooks
    where id = ${webhookId}
      and app_id = ${ctx.caller.appId}
    returning id`
  requireWebhookRow(deleted)
  noteAct(ctx, { operation: 'webhooks.delete', target: { webhookId } })
  return { success: true }
})

const rotate = implement(contract.webhooks.rotate, async (ctx, { webhookId }) => {
  const { db, caller } = ctx
  const secret = newWebhookSecret()
  const [webhook] = await db<Webhook[]>`
    update webhooks wh
    set
      secret = ${secret},
      previous_secret = wh.secret,
      previous_secret_expires_at =
        now() + ${limits.webhooks.rotationHours} * interval '1 hour'
    where wh.id = ${webhookId}
      and wh.app_id = ${caller.appId}
    returning ${webhookColumns(db)}`
  noteAct(ctx, { operation: 'webhooks.rotate', target: { webhookId } })
  return { ...requireWebhookRow(webhook), secret }
})

export const webhooks = {
  create,
  list,
  update,
  delete: remove,
  rotate,
  test,
  deliveries,
  retry,
  replay,
} satisfies Implements<'webhooks'>

const distinct = (events: string[]) => [...new Set(events)]
