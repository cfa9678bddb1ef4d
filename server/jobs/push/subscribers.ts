import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import { type Handlers, type QueuedJob, RetryLaterError } from '../tasks.ts'
import type { Provider, SubscriberProfile } from './provider.ts'
import { ProviderRefusedError, ProviderUnavailableError } from './provider-call.ts'

type ProfileTask = 'subscriber' | 'subscriber-removal'
type ProfileJob<T extends ProfileTask> = { job: QueuedJob<T>; signal: AbortSignal }
type SubscribersOptions = { db: Db; provider: Provider; log: Log }

/**
 * Copies a user's profile and device tokens to the provider. It reads them when the job runs, so
 * the order of jobs does not matter, nor does running one twice.
 */
export function createSubscribers({
  db,
  provider,
  log,
}: SubscribersOptions): Pick<Handlers, ProfileTask | 'device'> {
  /** Makes the provider's record what the user's is now, whichever job asks for it. */
  const copyProfile = async <T extends ProfileTask>(task: T, { job, signal }: ProfileJob<T>) => {
    try {
      const user = await selectSubscriber(db, job)
      if (user) await provider.saveSubscriber(user, signal)
      else await provider.removeSubscriber(job.userId, signal)
    } catch (error) {
      if (error instanceof ProviderUnavailableError)
        throw new RetryLaterError(task, [job], error.retryAfterSeconds, error)
      logIfRefused(log, error)
    }
  }

  const device: Handlers['device'] = ([job], { signal }) => {
    const copyTokens = async () => {
      const user = await selectSubscriber(db, job)
      if (!user) return
      const tokens = await selectTokens(db, job)
      // Tokens belong to a subscriber, and the user may be older than the provider's set-up.
      if (tokens.length > 0) await provider.saveSubscriber(user, signal)
      await provider.setTokens(job.userId, { provider: job.provider, tokens, signal })
    }
    return copyTokens().catch((error: unknown) => {
      if (error instanceof ProviderUnavailableError)
        throw new RetryLaterError('device', [job], error.retryAfterSeconds, error)
      logIfRefused(log, error)
    })
  }

  return {
    subscriber: ([job], { signal }) => copyProfile('subscriber', { job, signal }),
    'subscriber-removal': ([job], { signal }) => copyProfile('subscriber-removal', { job, signal }),
    device,
  }
}

/** Trying again would not help, so a refusal is only logged. */
function logIfRefused(log: Log, error: unknown) {
  if (!(error instanceof ProviderRefusedError)) throw error
  log.error({ err: error }, 'subscriber refused')
}

async function selectSubscriber(db: Db, { appId, userId }: { appId: string; userId: string }) {
  const [user] = await db.use(
    (db) => db<SubscriberProfile[]>`
      select u.id, u.display_name as name, u.email, u.image
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
