import { hostAndPortOf, networkOf } from '../../core/addresses.ts'
import {
  createGuardedRequest,
  type GuardOptions,
  readUpTo,
  UnfetchableError,
} from '../../core/guarded-request.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { createHostLimit, type HostLimit } from './fair-share.ts'

type ContentType = 'html' | 'json'
/** The response to a URL. The body is cut at MAX_BYTES. */
export type FetchResult = { url: URL; contentType: string; body: Buffer }
export type Fetch = (
  address: string,
  options: { type: ContentType; signal: AbortSignal },
) => Promise<FetchResult | undefined>
/** Fetches for an app. */
export type FetchFor = (appId: string) => Fetch
type Hop = { appId: string; signal: AbortSignal }

export type FetchOptions = GuardOptions & {
  perHost?: HostLimit
  perAddress?: HostLimit
  /** How long a fetch takes at most, with its redirects. */
  timeoutMs?: number
}

const PER_HOST: HostLimit = { most: 60, windowMs: 60_000 }
/**
 * Limits an address, to which any number of names may resolve. It may serve many sites, behind a
 * CDN.
 */
const PER_ADDRESS: HostLimit = { most: 600, windowMs: 60_000 }

const TIMEOUT_MS = 8_000
const MAX_BYTES = 512 * 1024
const MAX_REDIRECTS = 3
const contentTypes: Record<ContentType, { accept: string; pattern: RegExp }> = {
  html: {
    accept: 'text/html, application/xhtml+xml',
    pattern: /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i,
  },
  json: { accept: 'application/json', pattern: /^application\/json\s*(;|$)/i },
}

/**
 * Fetches URLs chosen by strangers, from the public internet only: each hop is a guarded request.
 * Returns undefined without a usable response. Throws a BusyError if too many fetches of the app
 * went to a host, or to the address of its name.
 */
export function createFetch({
  perHost = PER_HOST,
  perAddress = PER_ADDRESS,
  timeoutMs = TIMEOUT_MS,
  ...guard
}: FetchOptions): FetchFor {
  const ofHost = createHostLimit(perHost)
  const ofAddress = createHostLimit(perAddress)
  const request = createGuardedRequest(guard)

  const open = (url: URL, { appId, accept, signal }: Hop & { accept: string }) => {
    const fetched = { appId, host: hostAndPortOf(url) }
    ofHost.check(fetched)
    ofHost.count(fetched)
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'Parley link preview' }
    const visits = {
      check: (address: string) => ofAddress.check({ appId, host: networkOf(address) }),
      count: (address: string) => ofAddress.count({ appId, host: networkOf(address) }),
    }
    return request(url, { headers, signal, visits })
  }

  const follow = async (
    url: URL,
    { type, ...hop }: Hop & { type: ContentType },
    redirects = 0,
  ): Promise<FetchResult> => {
    const response = await open(url, { accept: contentTypes[type].accept, ...hop })
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy()
      if (redirects === MAX_REDIRECTS || !URL.canParse(headers.location, url.href))
        throw new UnfetchableError('too many redirects, or an invalid one')
      return follow(new URL(headers.location, url), { type, ...hop }, redirects + 1)
    }
    const contentType = headers['content-type'] ?? ''
    const isUsable =
      statusCode === 200 &&
      contentTypes[type].pattern.test(contentType) &&
      (headers['content-encoding'] ?? 'identity') === 'identity'
    if (!isUsable) {
      response.destroy()
      throw new UnfetchableError(`unusable response from ${url.host}`)
    }
    return { url, contentType, body: await readUpTo(response, MAX_BYTES) }
  }

  return (appId) =>
    async (address, { type, signal }) => {
      if (!URL.canParse(address)) return undefined
      try {
        return await withTimeout(timeoutMs, signal, (signal) =>
          follow(new URL(address), { type, appId, signal }),
        )
      } catch (error) {
        signal.throwIfAborted()
        // Network and protocol errors carry a code; an error without one is a bug here.
        const hasCode = error instanceof Error && 'code' in error
        if (error instanceof UnfetchableError || hasCode) return undefined
        throw error
      }
    }
}
