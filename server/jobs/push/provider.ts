import { z } from 'zod'
import { withTimeout } from '../with-timeout.ts'
import { type PushEvent, subscriberId } from './events.ts'
import type { PushSettings } from './settings.ts'

/** The provider did not answer, had trouble of its own, or asked us to come back later. */
export class ProviderUnavailableError extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds = 0,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
/** The provider will never do this. */
export class ProviderRefusedError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message)
  }
}

const CALL_MS = 10_000
/** Somebody waits for the answer. */
const ASK_MS = 2_000
/** The most that the provider takes at once. */
export const EVENTS_A_CALL = 100
/** Its names for the kinds of device tokens. */
const providerIds = { fcm: 'fcm', apns: 'apns', relay: 'expo' } as const

export type Subscriber = {
  id: string
  name: string | null
  email: string | null
  image: string | null
}
export type Provider = ReturnType<typeof createProvider>

/** The push provider's API, as far as we use it: that of Novu. */
export function createProvider(settings: PushSettings) {
  const { apiUrl, secretKey } = settings
  const call = async (
    method: string,
    path: string,
    {
      body,
      milliseconds = CALL_MS,
      signal,
    }: { body?: object; milliseconds?: number; signal?: AbortSignal },
  ) => {
    const headers = {
      authorization: `ApiKey ${secretKey}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    }
    const init = {
      method,
      headers,
      redirect: 'error',
      ...(body ? { body: JSON.stringify(body) } : {}),
    } as const
    const { status, retryAfterSeconds, text } = await withTimeout(milliseconds, signal, (signal) =>
      request(`${apiUrl}${path}`, { ...init, signal }),
    )
    const what = `${method} ${path} answered ${status}: ${text.slice(0, 200)}`
    if (status === 408 || status === 429 || status >= 500)
      throw new ProviderUnavailableError(what, retryAfterSeconds)
    if (status >= 400) throw new ProviderRefusedError(what, status)
    return text
  }
  const pathOf = (userId: string) => encodeURIComponent(subscriberId(settings, userId))
  /** What is not there needs no removing. */
  const unlessGone = (error: unknown) => {
    if (!(error instanceof ProviderRefusedError && error.status === 404)) throw error
  }

  return {
    /** Tells of up to a hundred pushes; those it knows already it takes for done. */
    trigger: ([first, ...others]: [PushEvent, ...PushEvent[]], signal: AbortSignal) =>
      others.length === 0
        ? call('POST', '/v1/events/trigger', { body: first, signal })
        : call('POST', '/v1/events/trigger/bulk', { body: { events: [first, ...others] }, signal }),

    saveSubscriber: ({ id, name, email, image }: Subscriber, signal: AbortSignal) =>
      call('POST', '/v2/subscribers', {
        body: { subscriberId: subscriberId(settings, id), firstName: name, email, avatar: image },
        signal,
      }),

    removeSubscriber: (userId: string, signal: AbortSignal) =>
      call('DELETE', `/v2/subscribers/${pathOf(userId)}`, { signal }).catch(unlessGone),

    /** Sets the device tokens of one kind, all of them; none withdraws the kind. */
    setTokens: (
      userId: string,
      {
        provider,
        tokens,
        signal,
      }: { provider: keyof typeof providerIds; tokens: string[]; signal: AbortSignal },
    ) => {
      const path = `/v1/subscribers/${pathOf(userId)}/credentials`
      const providerId = providerIds[provider]
      return tokens.length === 0
        ? call('DELETE', `${path}/${providerId}`, { signal }).catch(unlessGone)
        : call('PUT', path, { body: { providerId, credentials: { deviceTokens: tokens } }, signal })
    },

    /** The provider's own preferences of a user. */
    preferencesOf: async (userId: string) =>
      Preferences.parse(
        JSON.parse(
          await call('GET', `/v2/subscribers/${pathOf(userId)}/preferences`, {
            milliseconds: ASK_MS,
          }),
        ),
      ).data,

    hasWorkflow: async (id: string) => {
      try {
        await call('GET', `/v2/workflows/${encodeURIComponent(id)}`, {})
        return true
      } catch (error) {
        unlessGone(error)
        return false
      }
    },
    createWorkflow: (workflow: object) => call('POST', '/v2/workflows', { body: workflow }),
  }
}

const Preferences = z.object({
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

/** No answer is an answer that comes later. */
async function request(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, init)
    return {
      status: response.status,
      retryAfterSeconds: secondsUntil(response.headers.get('retry-after')),
      text: await response.text(),
    }
  } catch (error) {
    throw new ProviderUnavailableError(`${init.method} ${new URL(url).pathname} got no answer`, 0, {
      cause: error,
    })
  }
}

/** `Retry-After` in seconds or as a date; at most ten minutes. */
function secondsUntil(retryAfter: string | null) {
  if (retryAfter === null) return 0
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 600) : 0
}
