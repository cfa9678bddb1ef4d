import { contract, type Input, limits, type WebhookDelivery } from '@parley/contract'
import { noteAct } from '../../core/audit.ts'
import { ApiError } from '../../core/errors.ts'
import { implement, implementWithoutTransaction } from '../../core/operation.ts'
import { replayKey } from '../../core/webhook-replays.ts'
import type { Tx } from '../../db/client.ts'
import { decodeNumberCursor, encodeCursor, toPage } from '../cursors.ts'
import { deliveryColumns, requireWebhook, requireWebhookRow } from './view.ts'

export const test = implement(contract.webhooks.test, async (ctx, { webhookId }) => {
  const { db, caller } = ctx
  const [delivery] = await db<WebhookDelivery[]>`
    insert into webhook_deliveries as wd (app_id, webhook_id, event_type)
    select wh.app_id, wh.id, 'webhook.test'
    from webhooks wh
    where wh.id = ${webhookId}
      and wh.app_id = ${caller.appId}
    returning ${deliveryColumns(db)}`
  noteAct(ctx, { operation: 'webhooks.test', target: { webhookId } })
  return requireWebhookRow(delivery)
})

export const deliveries = implementWithoutTransaction(
  contract.webhooks.deliveries,
  ({ db, caller: { appId } }, page) => deliveriesOf(db, { appId, ...page }),
)

type DeliveriesPage = Input<typeof contract.webhooks.deliveries> & { appId: string }

/** A page of the deliveries of a webhook, which must be the app's. */
export async function deliveriesOf(db: Tx, { appId, webhookId, limit, cursor }: DeliveriesPage) {
  await requireWebhook(db, { appId, webhookId })
  const before = cursor === undefined ? null : decodeNumberCursor(cursor)
  const rows = await db<WebhookDelivery[]>`
    select ${deliveryColumns(db)}
    from webhook_deliveries wd
    where wd.webhook_id = ${webhookId}
      and ${before === null ? db`true` : db`wd.id < ${before}::bigint`}
    order by wd.id desc
    limit ${limit + 1}`
  const { page, nextCursor } = toPage(rows, limit, ({ id }) => encodeCursor(id, ''))
  return { deliveries: page, nextCursor }
}

export const retry = implement(contract.webhooks.retry, async (ctx, { webhookId, deliveryId }) => {
  const { db, caller } = ctx
  const [delivery] = await db<WebhookDelivery[]>`
    update webhook_deliveries wd
    set status = 'pending', attempts = 0, next_attempt_at = now(), error = null
    where wd.id = ${deliveryId}::bigint
      and wd.app_id is not distinct from ${caller.appId}
      and wd.webhook_id in (
        select wh.id
        from webhooks wh
        where wh.id = ${webhookId}
          and wh.app_id = ${caller.appId}
      )
    returning ${deliveryColumns(db)}`
  if (!delivery) throw new ApiError('NOT_FOUND', 'Delivery not found')
  noteAct(ctx, { operation: 'webhooks.retry', target: { webhookId, deliveryId } })
  return delivery
})

/**
 * Requests a replay, which a worker makes, because there may be many events. A replay that has
 * begun continues, so that it ends however often another is requested. It may be past events that
 * another one is to send, which is made after it. A request since the same time is the same one,
 * repeated.
 */
export const replay = implement(contract.webhooks.replay, async (ctx, { webhookId, since }) => {
  const { db, caller } = ctx
  await requireWebhook(db, { appId: caller.appId, webhookId })
  // PostgreSQL refuses texts that are times here, like one of the year 0.
  const time = db`to_timestamp(${Date.parse(since) / 1_000}::float8)`
  const [asked] = await db<{ isCovered: boolean }[]>`
    update webhooks wh
    set replay_since = case
        when ${hasBegun(db)} then wh.replay_since
        else least(wh.replay_since, ${time})
      end
    where wh.id = ${webhookId}
      and wh.app_id = ${caller.appId}
      and ${time}
        between now() - ${limits.eventsKeptHours} * interval '1 hour' and now()
    returning wh.replay_since <= ${time} as is_covered`
  if (!asked)
    throw new ApiError(
      'VALIDATION_ERROR',
      `since: expected a time of the last ${limits.eventsKeptHours} hours`,
    )
  if (!asked.isCovered)
    throw new ApiError('CONFLICT', 'A replay from a later time is running: wait until it has ended')
  await db`
    update service s
    set value = (
      s.value::jsonb || jsonb_build_object(
        'again', least((s.value::jsonb ->> 'again')::timestamptz, ${time})
      )
    )::text
    from webhooks wh
    where wh.id = ${webhookId}
      and wh.app_id = ${caller.appId}
      and wh.enabled
      and wh.replay_since < ${time}
      and s.key = ${replayKey('')} || wh.id`
  noteAct(ctx, { operation: 'webhooks.replay', target: { webhookId, since } })
  return { success: true }
})

/**
 * Whether the replay that was asked of webhook `wh` has begun, and is not at its end. That of a
 * disabled webhook begins again.
 */
const hasBegun = (db: Tx) => db`(
  wh.enabled
  and wh.replay_since is not null
  and exists (
    select
    from service s
    where s.key = ${replayKey('')} || wh.id
  )
)`
