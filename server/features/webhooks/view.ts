import type { Webhook } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import { channelIdIn, isChannelTopic } from '../../core/topic-names.ts'
import { headerIdOf } from '../../core/webhook-ids.ts'
import type { Tx } from '../../db/client.ts'

/** The columns of webhook `wh` that its app sees. */
export const webhookColumns = (db: Tx) => db`
  wh.id, wh.url, wh.events, wh.description,
  wh.enabled, wh.disabled_reason, wh.failing_since, wh.created_at`

export const selectWebhooks = (db: Tx, appId: string) => db<Webhook[]>`
  select ${webhookColumns(db)}
  from webhooks wh
  where wh.app_id = ${appId}
  order by wh.id`

/** The columns of delivery `wd` that its app sees. */
export const deliveryColumns = (db: Tx) => db`
  wd.id::text as id, ${headerIdOf(db)} as header_id, wd.event_type,
  case
    when ${isChannelTopic(db, db`wd.topic`)} then ${channelIdIn(db, db`wd.topic`)}
  end as channel_id,
  (
    select e.message_id
    from events e
    where e.topic = wd.topic
      and e."offset" = wd."offset"
  ) as message_id,
  wd.status, wd.attempts, wd.response_status, wd.error,
  case when wd.status in ('pending', 'retrying') then wd.next_attempt_at end as next_attempt_at,
  wd.status = 'pending' and coalesce(
    (
      select earlier.status = 'pending'
      from webhook_deliveries earlier
      where earlier.webhook_id = wd.webhook_id
        and earlier.topic = wd.topic
        and earlier."offset" < wd."offset"
      order by earlier."offset" desc
      limit 1
    ),
    false
  ) as waits_for_earlier,
  wd.created_at`

/** The row of the app's webhook that a statement returned; without one, NOT_FOUND. */
export function requireWebhookRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new ApiError('NOT_FOUND', 'Webhook not found')
  return row
}

/** Refuses ids of webhooks that the app does not have. */
export async function requireWebhook(
  db: Tx,
  { appId, webhookId }: { appId: string; webhookId: string },
) {
  const [webhook] = await db<{ id: string }[]>`
    select wh.id
    from webhooks wh
    where wh.id = ${webhookId}
      and wh.app_id = ${appId}`
  requireWebhookRow(webhook)
}
