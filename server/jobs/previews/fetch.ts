import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { withTimeout } from '../with-timeout.ts'
import { hostAndPortOf, hostOf, isIpAddress, isPlainHttpUrl, isPublicAddress } from './address.ts'
import { createHostLimit, type HostLimit } from './fair-share.ts'

type ContentType = 'html' | 'json'
/** The response to a URL. The body is cut at MAX_BYTES. */
export type FetchResult = { url: URL; contentType: string; body: Buffer }
export type Fetch = (
  address: string,
  options: { type: ContentType; signal: AbortSignal },
) => Promise<FetchResult | undefined>

/** `resolver` makes a new resolver for each request. */
export type FetchOptions = {
  allowedHosts: readonly string[]
  resolver?: () => Resolver
  perHost?: HostLimit
}

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

/** The URL must not be fetched, or its response cannot be used. */
class UnfetchableError extends Error {
  override readonly name = 'UnfetchableError'
}

/**
 * Fetches URLs that strangers chose, from the public internet only. Each hop's URL is checked, then
 * its host, then every address it resolves to; the connection goes to exactly those addresses.
 * `allowedHosts` (`host:port`) are trusted. Returns undefined if there is no usable response;
 * throws a BusyError if too many fetches went to a host.
 */
export function createFetch({
  allowedHosts,
  resolver = () => new Resolver({ timeout: 2_000, tries: 2 }),
  perHost = PER_HOST,
}: FetchOptions): Fetch {
  const countFetch = createHostLimit(perHost)
  const allowed = new Set(allowedHosts)

  const open = async (url: URL, options: { accept: string; signal: AbortSignal }) => {
    countFetch(hostAndPortOf(url))
    const hasCredentials = url.username !== '' || url.password !== ''
    if (allowed.has(hostAndPortOf(url)) && !hasCredentials) return get(url, options)
    if (!isPlainHttpUrl(url)) throw new UnfetchableError(`not a plain http(s) URL: ${url.protocol}`)
    const host = hostOf(url)
    if (isIpAddress(host)) {
      if (!isPublicAddress(host)) throw new UnfetchableError(`not public: ${host}`)
      return get(url, options)
    }
    const addresses = await resolve(resolver(), host, options.signal)
    const arePublic = addresses.every(({ address }) => isPublicAddress(address))
    if (addresses.length === 0 || !arePublic) throw new UnfetchableError(`not public: ${host}`)
    return get(url, { ...options, lookup: lookupReturning(addresses) })
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
    return { url, contentType, body: await readBody(response) }
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

/**
 * Every address of a host, by DNS. The system's resolver would block threads that the server needs,
 * and knows private names.
 */
async function resolve(
  resolver: Resolver,
  host: string,
  signal: AbortSignal,
): Promise<LookupAddress[]> {
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  signal.removeEventListener('abort', cancel)
  return [
    ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ]
}

/**
 * Pins a connection to addresses that were checked, even if the name resolves differently by then.
 */
const lookupReturning =
  (addresses: LookupAddress[]): LookupFunction =>
  (_host, { all }, done) => {
    const [first] = addresses
    if (all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  }

const get = (
  url: URL,
  { accept, signal, lookup }: { accept: string; signal: AbortSignal; lookup?: LookupFunction },
) =>
  new Promise<IncomingMessage>((onResponse, reject) => {
    const { request } = url.protocol === 'https:' ? https : http
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'Parley link preview' }
    request(url, { agent: false, headers, signal, ...(lookup && { lookup }) }, onResponse)
      .on('error', reject)
      .end()
  })

async function readBody(response: IncomingMessage) {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= MAX_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES)
}
