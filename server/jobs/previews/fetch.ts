import { hostAndPortOf } from '../../core/addresses.ts'
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

export type FetchOptions = GuardOptions & { perHost?: HostLimit }

const PER_HOST: HostLimit = { most: 60, windowMs: 60_000 }

const TOTAL_TIMEOUT_MS = 8_000
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
 * Fetches URLs that strangers chose, from the public internet only: each hop is a guarded request.
 * Returns undefined if there is no usable response; throws a BusyError if too many fetches went to
 * a host.
 */
export function createFetch({ perHost = PER_HOST, ...guard }: FetchOptions): Fetch {
  const countFetch = createHostLimit(perHost)
  const request = createGuardedRequest(guard)

  const open = (url: URL, { accept, signal }: { accept: string; signal: AbortSignal }) => {
    countFetch(hostAndPortOf(url))
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'Parley link preview' }
    return request(url, { headers, signal })
  }

  const follow = async (
    url: URL,
    { type, signal }: { type: ContentType; signal: AbortSignal },
    redirects = 0,
  ): Promise<FetchResult> => {
    const response = await open(url, { accept: contentTypes[type].accept, signal })
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy()
      if (redirects === MAX_REDIRECTS || !URL.canParse(headers.location, url.href))
        throw new UnfetchableError('too many redirects, or an invalid one')
      return follow(new URL(headers.location, url), { type, signal }, redirects + 1)
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

  return async (address, { type, signal }) => {
    if (!URL.canParse(address)) return undefined
    try {
      return await withTimeout(TOTAL_TIMEOUT_MS, signal, (signal) =>
        follow(new URL(address), { type, signal }),
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
