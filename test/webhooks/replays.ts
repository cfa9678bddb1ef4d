import { createGuardedRequest } from '@parley/server/core/guarded-request'
import { timings } from '@parley/server/jobs/timings'
import { deliverDue } from '@parley/server/jobs/webhooks/deliver'
import { leaseWebhooks, releaseWebhook } from '@parley/server/jobs/webhooks/leases'
import { createReplays } from '@parley/server/jobs/webhooks/replay'
import { upTo } from '../support/events.ts'
import { silentLog } from '../support/jobs.ts'
import { quietTimings } from '../support/quiet.ts'
import { useWorld } from '../support/world.ts'

const hour = 3_600_000
export const hoursAgo = (hours: number) => new Date(Date.now() - hours * hour).toISOString()
/** Two topics at a time, and two events of each. */
export const SMALL = { topics: 2, page: 4 }

/** A world whose webhooks replay events in turns that a test begins. */
export function useReplays() {
  const world = useWorld({
    poolSize: 1,
    timings: quietTimings,
  })

  /** An app with a webhook whose receiver refuses connections, and events of a few topics. */
  const newScene = async () => {
    const { id: appId, apiKey } = await world().operator.apps.create({ name: 'Replayed' })
    const backend = world().api({ apiKey })
    const url = 'https://shop.example.com/parley'
    const { id: webhookId } = await backend.webhooks.create({ url, events: ['*'] })
    await backend.users.sync({ users: [{ id: 'ana' }, { id: 'ben' }] })
    const ana = world().api({ apiKey, userId: 'ana' })
    for (const name of ['one', 'two', 'three']) {
      const members = { memberIds: ['ben'] }
      const { id: channelId } = await ana.channels.create({ type: 'group', name, ...members })
      for (const text of ['a', 'b', 'c']) await ana.messages.send({ channelId, text })
    }
    const events = async () => {
      const [{ count } = { count: 0 }] = await world().db<{ count: number }[]>`
        select count(*)::int as count
        from events
        where topic like ${`%:${appId}:%`}`
      return count
    }
    const isAsked = async () => {
      const asked = await world().db`
        select
        from webhooks
        where id = ${webhookId}
          and app_id = ${appId}
          and replay_since is not null`
      return asked.length > 0
    }
    const made = async () => {
      const [{ count } = { count: 0 }] = await world().db<{ count: number }[]>`
        select count(*)::int as count
        from webhook_deliveries
        where app_id = ${appId}`
      return count
    }
    /** Ends the replay in turns of one small page each; returns their number. */
    const replayToEnd = async () => {
      for (const turns of upTo(100)) {
        await turnOf(webhookId, 0, createReplays(SMALL))
        if (!(await isAsked())) return turns
      }
      throw new Error('the replay does not end')
    }
    const replay = (hours: number) => backend.webhooks.replay({ webhookId, since: hoursAgo(hours) })
    return { appId, backend, ana, webhookId, events, made, replay, replayToEnd }
  }

  const leaseOf = async (webhookId: string) => {
    const leases = await leaseWebhooks(world().pool, {
      ...{ isFailing: false, most: 100, leaseMs: 60_000, restMs: 10_000, served: [] },
    })
    return leases.find(({ id }) => id === webhookId)
  }

  /** A turn of a worker that sends nothing; `replayMs` is how long it may read. */
  const turnOf = async (webhookId: string, replayMs: number, replays = createReplays()) => {
    const { pool, metrics } = world()
    const lease = await leaseOf(webhookId)
    if (!lease) return 'nothing to do'
    const signal = AbortSignal.abort()
    await deliverDue(
      {
        ...{ db: pool, metrics, log: silentLog, signal, replays },
        request: createGuardedRequest({ allowedHosts: [] }),
        timings: { ...timings, webhookReplayMs: replayMs },
      },
      lease,
    )
    await releaseWebhook(pool, lease)
    return 'served'
  }

  const replaysLeft = (webhookId: string) => world().db<{ value: string }[]>`
    select value
    from service
    where key = ${`webhook_replay:${webhookId}`}`
  return { world, newScene, leaseOf, turnOf, replaysLeft }
}
