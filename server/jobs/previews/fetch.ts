import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { withTimeout } from '../with-timeout.ts'
import { hostOf, isAddress, isPlain, isPublic, originOf } from './address.ts'

/** What a URL answered with: at most so much of it. */
export type Fetched = { url: URL; contentType: string; body: Buffer }
export type Fetch = (
  address: string,
  options: { type: 'html' | 'json'; signal: AbortSignal },
) => Promise<Fetched | undefined>

/** `resolver` makes the one that a single request uses. */
export type FetchOptions = { allowedHosts: readonly string[]; resolver?: () => Resolver }

const TOTAL_MS = 8_000
const MAX_BYTES = 512 * 1024
const MAX_REDIRECTS = 3
const types = {
  html: /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i,
  json: /^application\/json\s*(;|$)/i,
}
const accepted = { html: 'text/html, application/xhtml+xml', json: 'application/json' }

/** We will not, or can not, show what is there. */
class UnfetchableError extends Error {}

/**
 * Fetches what strangers point us to, from the public internet only. Each hop's URL is judged, then its host, then every
 * address it resolves to; the connection goes to just these addresses. `allowedHosts` (`host:port`) are trusted.
 * Whatever can not be had, for whatever reason, is undefined.
 */
export function createFetch({
  allowedHosts,
  resolver = () => new Resolver({ timeout: 2_000, tries: 2 }),
}: FetchOptions): Fetch {
  const allowed = new Set(allowedHosts)

  const open = async (url: URL, options: { accept: string; signal: AbortSignal }) => {
    if (allowed.has(originOf(url)) && url.username === '' && url.password === '')
      return get(url, options)
    if (!isPlain(url)) throw new UnfetchableError(`not a plain http(s) URL: ${url.protocol}`)
    const host = hostOf(url)
    if (isAddress(host)) return isPublic(host) ? get(url, options) : refuse(host)
    const addresses = await resolve(resolver(), host, options.signal)
    return addresses.length > 0 && addresses.every(({ address }) => isPublic(address))
      ? get(url, { ...options, lookup: only(addresses) })
      : refuse(host)
  }

  const follow = async (
    url: URL,
    options: { type: 'html' | 'json'; signal: AbortSignal },
    redirects = 0,
  ): Promise<Fetched> => {
    const response = await open(url, { accept: accepted[options.type], signal: options.signal })
    const { statusCode = 0, headers } = response
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy()
      if (redirects === MAX_REDIRECTS || !URL.canParse(headers.location, url.href))
        throw new UnfetchableError('redirected too often, or nowhere')
      return follow(new URL(headers.location, url), options, redirects + 1)
    }
    const contentType = headers['content-type'] ?? ''
    const isFit =
      statusCode === 200 &&
      types[options.type].test(contentType) &&
      (headers['content-encoding'] ?? 'identity') === 'identity'
    if (!isFit) response.destroy()
    return isFit ? { url, contentType, body: await read(response) } : refuse(url.host)
  }

  return async (address, { type, signal }) => {
    if (!URL.canParse(address)) return undefined
    try {
      return await withTimeout(TOTAL_MS, signal, (signal) =>
        follow(new URL(address), { type, signal }),
      )
    } catch (error) {
      signal.throwIfAborted()
      // The network's and the page's troubles carry a code; ours would not.
      if (error instanceof UnfetchableError || (error instanceof Error && 'code' in error))
        return undefined
      throw error
    }
  }
}

const refuse = (what: string): never => {
  throw new UnfetchableError(`not fetched: ${what}`)
}

/** Every address of a host. Not by the system's resolver: that one blocks threads which the server needs, and knows private names. */
async function resolve(
  resolver: Resolver,
  host: string,
  signal: AbortSignal,
): Promise<LookupAddress[]> {
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  signal.removeEventListener('abort', cancel)
  return [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ]
}

/** Connects to these addresses, whatever the name resolves to by then. */
const only =
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
  new Promise<IncomingMessage>((answer, reject) => {
    const { request } = url.protocol === 'https:' ? https : http
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'Parley link preview' }
    request(url, { agent: false, headers, signal, ...(lookup && { lookup }) }, answer)
      .on('error', reject)
      .end()
  })

async function read(response: IncomingMessage) {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= MAX_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES)
}
