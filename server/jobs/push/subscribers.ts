import type { Db } from '../../db/client.ts'
import type { Log } from '../log.ts'
import { type Handlers, RetryLaterError } from '../tasks.ts'
import {
  type Provider,
  ProviderRefusedError,
  ProviderUnavailableError,
  type Subscriber,
} from './provider.ts'

/** Brings the provider what we know of a user now, whatever it was when the job was promised: so order and repeats do not matter. */
export function createSubscribers({
  db,
  provider,
  log,
}: {
  db: Db
  provider: Provider
  log: Log
}): Pick<Handlers, 'subscriber' | 'device'> {
  const subscriber: Handlers['subscriber'] = async ([job], { signal }) =>
    unlessRefused(log, async () => {
      const user = await selectSubscriber(db, job)
      if (user) await provider.saveSubscriber(user, signal)
      else await provider.removeSubscriber(job.userId, signal)
    }).catch(
      orLater((error) => new RetryLaterError('subscriber', [job], error.retryAfterSeconds, error)),
    )

  const device: Handlers['device'] = async ([job], { signal }) =>
    unlessRefused(log, async () => {
      const { appId, userId, provider: kind } = job
      const user = await selectSubscriber(db, job)
      if (!user) return
      const tokens = await db.use(
        (db) => db<{ token: string }[]>`
        select token from devices where app_id = ${appId} and user_id = ${userId} and provider = ${kind} order by created_at, id`,
      )
      // Tokens are kept with a subscriber, who may have been here before there was a provider.
      if (tokens.length > 0) await provider.saveSubscriber(user, signal)
      await provider.setTokens(userId, {
        provider: kind,
        tokens: tokens.map(({ token }) => token),
        signal,
      })
    }).catch(
      orLater((error) => new RetryLaterError('device', [job], error.retryAfterSeconds, error)),
    )

  return { subscriber, device }
}

async function selectSubscriber(db: Db, { appId, userId }: { appId: string; userId: string }) {
  const [user] = await db.use(
    (db) =>
      db<
        Subscriber[]
      >`select id, display_name as name, email, image from users where app_id = ${appId} and id = ${userId} and deleted_at is null`,
  )
  return user
}

/** A refusal is told to those who run the service; trying again would not help. */
async function unlessRefused(log: Log, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof ProviderRefusedError)) throw error
    log.error({ err: error }, 'subscriber refused')
  }
}

const orLater =
  (later: (error: ProviderUnavailableError) => RetryLaterError) => (error: unknown) => {
    throw error instanceof ProviderUnavailableError ? later(error) : error
  }
