import { z } from 'zod'
import { type PushEvent, subscriberId } from './events.ts'
import { outcomesOf } from './outcomes.ts'
import {
  createProviderCall,
  type ProviderTimings,
  ProviderUnavailableError,
} from './provider-call.ts'
import type { PushSettings } from './settings.ts'

/** Shorter than for other calls, because a request to our own API waits for it. */
const PREFERENCES_TIMEOUT_MS = 2_000
/** How many events the provider accepts in one call. */
export const MAX_EVENTS_PER_CALL = 100
/** The provider's names for the kinds of device tokens. */
const providerIds = { fcm: 'fcm', apns: 'apns', relay: 'expo' } as const

export type SubscriberProfile = {
  id: string
  name: string | null
  email: string | null
  image: string | null
}
type DeviceTokens = { provider: keyof typeof providerIds; tokens: string[]; signal: AbortSignal }
export type Provider = ReturnType<typeof createProvider>

/** The part of the push provider's API that we use. The provider is Novu. */
export function createProvider(settings: PushSettings, timings?: ProviderTimings) {
  const call = createProviderCall(settings, timings)
  const pathId = (userId: string) => encodeURIComponent(subscriberId(settings, userId))

  return {
    /**
     * Sends up to MAX_EVENTS_PER_CALL pushes, and returns their outcomes in the same order. The
     * provider accepts repeats, and ignores them.
     */
    trigger: async (events: PushEvent[], signal: AbortSignal) => {
      const [first, ...others] = events.map(triggerOf)
      const answer =
        others.length === 0
          ? await call('POST', '/v1/events/trigger', { body: first, signal })
          : await call('POST', '/v1/events/trigger/bulk', {
              body: { events: [first, ...others] },
              signal,
            })
      return outcomesOf(answer, events.length)
    },

    /** Changes the subscriber, or creates it. A POST alone would keep fields that are now null. */
    saveSubscriber: async ({ id, name, email, image }: SubscriberProfile, signal: AbortSignal) => {
      const profile = { firstName: name, email, avatar: image }
      const path = `/v2/subscribers/${pathId(id)}`
      const changed = await call('PATCH', path, { body: profile, signal }).catch(ignoreNotFound)
      if (changed !== undefined) return
      const body = { subscriberId: subscriberId(settings, id), ...profile }
      await call('POST', '/v2/subscribers', { body, signal })
    },

    removeSubscriber: (userId: string, signal: AbortSignal) =>
      call('DELETE', `/v2/subscribers/${pathId(userId)}`, { signal }).catch(ignoreNotFound),

    /** Replaces the user's device tokens of one kind. */
    setTokens: (userId: string, { provider, tokens, signal }: DeviceTokens) => {
      const path = `/v1/subscribers/${pathId(userId)}/credentials`
      const providerId = providerIds[provider]
      if (tokens.length === 0)
        return call('DELETE', `${path}/${providerId}`, { signal }).catch(ignoreNotFound)
      const body = { providerId, credentials: { deviceTokens: tokens } }
      return call('PUT', path, { body, signal })
    },

    /** The preferences that the provider itself keeps for a user. */
    getPreferences: async (userId: string) => {
      const path = `/v2/subscribers/${pathId(userId)}/preferences`
      const body = await call('GET', path, { timeoutMs: PREFERENCES_TIMEOUT_MS })
      return PreferencesResponse.parse(JSON.parse(body)).data
    },

    hasWorkflow: async (id: string) => {
      const workflow = await call('GET', `/v2/workflows/${encodeURIComponent(id)}`).catch(
        ignoreNotFound,
      )
      return workflow !== undefined
    },
    createWorkflow: (workflow: object) => call('POST', '/v2/workflows', { body: workflow }),
  }
}

/** A push in the provider's form, which has no apps. */
const triggerOf = ({ name, to, payload, transactionId }: PushEvent) => ({
  name,
  to,
  payload,
  transactionId,
})

function ignoreNotFound(error: unknown): undefined {
  if (!(error instanceof ProviderUnavailableError && error.status === 404)) throw error
}

const PreferencesResponse = z.object({
  data: z
    .object({
      global: z.object({ channels: z.record(z.string(), z.unknown()) }),
      workflows: z.array(z.unknown()),
    })
    .transform(({ global, workflows }) => ({
      channels: Object.entries(global.channels).map(([channel, enabled]) => ({ channel, enabled })),
      workflows,
    })),
})
