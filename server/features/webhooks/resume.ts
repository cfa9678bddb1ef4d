import { replayKey } from '../../core/webhook-replays.ts'
import type { Tx } from '../../db/client.ts'

/** How many deliveries of a line, and how many beside it, are looked at. The others wait on. */
const MOST = 10_000

type WebhookChange = { appId: string; webhookId: string; enabled?: boolean; url?: string }

/**
 * Makes deliveries that wait for another try due at once if a webhook is about to be enabled again,
 * or to get another URL. They are locked in the order in which replays lock them. Enabled again, it
 * also begins its replay again, for there are events that this did not see. The webhook stays
 * locked, so that of two such changes one comes first.
 */
export async function resumeDeliveries(db: Tx, { appId, webhookId, enabled, url }: WebhookChange) {
  const [before] = await db<{ enabled: boolean; url: string }[]>`
    select wh.enabled, wh.url
    from webhooks wh
    where wh.id = ${webhookId}
      and wh.app_id = ${appId}
    for no key update`
  if (!before) return
  const isEnabledAgain = enabled === true && !before.enabled
  if (!isEnabledAgain && (url ?? before.url) === before.url) return
  if (isEnabledAgain) {
    await db`
      delete from service
      where key = ${replayKey(webhookId)}`
  }
  await db`
    with waiting as materialized (
      select line.id
      from (
        select wd.id, wd.next_attempt_at
        from webhook_deliveries wd
        where wd.webhook_id = ${webhookId}
          and wd.status = 'pending'
        order by wd.id
        limit ${MOST}
      ) line
      where line.next_attempt_at > now()
      union all
      select retrying.id
      from (
        select wd.id
        from webhook_deliveries wd
        where wd.webhook_id = ${webhookId}
          and wd.status = 'retrying'
          and wd.next_attempt_at > now()
        order by wd.next_attempt_at
        limit ${MOST}
      ) retrying
    ),
    locked as materialized (
      select wd.id
      from webhook_deliveries wd
      where wd.id = any(array(select id from waiting))
      order by wd.topic, wd."offset", wd.id
      for no key update
    )
    update webhook_deliveries
    set next_attempt_at = now()
    where id = any(array(select id from locked))
      and app_id is not distinct from ${appId}`
}
