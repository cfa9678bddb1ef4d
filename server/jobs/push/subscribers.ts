import type { Log } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Db } from '../../db/client.ts'
import { publicColumns } from '../../features/users/view.ts'
import { type HandlerContext, type Handlers, type QueuedJob, RetryLaterError } from '../tasks.ts'
import { limitKept } from './limit-kept.ts'
import type { Provider, SubscriberProfile } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

type ProfileTask = 'subscriber' | 'subscriber-removal'
type SubscriberTask = ProfileTask | 'device'
type SubscribersOptions = { db: Db; provider: Provider; metrics: Metrics; log: Log }

/**
 * Copies a user's profile and device tokens to the provider. It reads them when the job runs, so
 * the order of jobs does not matter, nor does running one twice.
 */
export function createSubscribers({
  db,
  provider,
  metrics,
  log,
}: SubscribersOptions): Pick<Handlers, SubscriberTask> {
  const mayKeep = limitKept()

  /** Puts a job off while the provider is unavailable, and gives it up if the provider refuses. */
  const attempt = async <T extends SubscriberTask>(
    task: T,
    { job, context, call }: { job: QueuedJob<T>; context: HandlerContext<T>; call: Promise<void> },
  ) => {
    try {
      await call
    } catch (error) {
      if (error instanceof ProviderUnavailableError)
        throw new RetryLaterError(task, [job], error.retryAfterSeconds, error)
      if (!(error instanceof ProviderRefusedError)) throw error
      log.error({ err: error, task }, 'push subscriber refused')
      metrics.jobs.inc({ task, outcome: 'given_up' })
      // A removal is always kept: without it a deleted user stays at the provider.
      if (task === 'subscriber-removal' || mayKeep(job.appId))
        await context.giveUp(task, [job], `refused: ${error.message}`)
    }
  }

  /** Makes the provider's record equal to the user's current one, whichever job asks for it. */
  const copyProfile = async (job: QueuedJob<ProfileTask>, signal: AbortSignal) => {
    const user = await selectSubscriber(db, job)
    if (user) await provider.saveSubscriber(user, signal)
    else await provider.removeSubscriber(job.userId, signal)
  }

  const copyTokens = async (job: QueuedJob<'device'>, signal: AbortSignal) => {
    const user = await selectSubscriber(db, job)
    if (!user) return
    const tokens = await selectTokens(db, job)
    // Tokens need a subscriber, and the user may be older than the provider's set-up.
    if (tokens.length > 0) await provider.saveSubscriber(user, signal)
    await provider.setTokens(job.userId, { provider: job.provider, tokens, signal })
  }

  return {
    subscriber: ([job], context) =>
      attempt('subscriber', { job, context, call: copyProfile(job, context.signal) }),
    'subscriber-removal': ([job], context) =>
      attempt('subscriber-removal', { job, context, call: copyProfile(job, context.signal) }),
    device: ([job], context) =>
      attempt('device', { job, context, call: copyTokens(job, context.signal) }),
  }
}

async function selectSubscriber(db: Db, { appId, userId }: { appId: string; userId: string }) {
  const [user] = await db.use(
    (db) => db<SubscriberProfile[]>`
      select u.id, ${publicColumns(db)}, u.email
      from users u
      where u.app_id = ${appId}
        and u.id = ${userId}
        and u.deleted_at is null`,
  )
  return user
}

async function selectTokens(
  db: Db,
  { appId, userId, provider }: { appId: string; userId: string; provider: string },
) {
  const devices = await db.use(
    (db) => db<{ token: string }[]>`
      select d.token
      from devices d
      where d.app_id = ${appId}
        and d.user_id = ${userId}
        and d.provider = ${provider}
      order by d.created_at, d.id`,
  )
  return devices.map(({ token }) => token)
}
