import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { hostAndPortOf, hostOf, isIpAddress, isPlainHttpUrl, isPublicAddress } from './addresses.ts'
import { isInTinyPieces } from './tiny-pieces.ts'

/** The URL must not be requested, or its response cannot be used. */
export class UnfetchableError extends Error {
  override readonly name = 'UnfetchableError'
}

export type GuardOptions = {
  /** `host:port` that are trusted, whatever their address and scheme. */
  allowedHosts: readonly string[]
  /** Makes a new resolver for each request. */
  resolver?: (() => Resolver) | undefined
}
/** Counts the connections to each address. */
type Visits = {
  /** Called with every public address of a host first; what it throws refuses the request. */
  check: (address: string) => void
  /** A connection to it is attempted. */
  count: (address: string) => void
}
type RequestOptions = {
  method?: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  visits?: Visits
}
export type GuardedRequest = (url: URL, options: RequestOptions) => Promise<IncomingMessage>

/**
 * Requests URLs that strangers chose, from the public internet only. The URL is checked, then its
 * host, then every address that it resolves to; the connection goes to exactly those addresses.
 * Redirects are not followed. Rejects with an UnfetchableError if the URL is refused.
 */
export function createGuardedRequest({
  allowedHosts,
  resolver = () => new Resolver({ timeout: 2_000, tries: 2 }),
}: GuardOptions): GuardedRequest {
  const allowed = new Set(allowedHosts)
  return async (url, options) => {
    const hasCredentials = url.username !== '' || url.password !== ''
    if (allowed.has(hostAndPortOf(url)) && !hasCredentials) return send(url, options)
    if (!isPlainHttpUrl(url)) throw new UnfetchableError(`not a plain http(s) URL: ${url.protocol}`)
    const host = hostOf(url)
    if (isIpAddress(host)) {
      if (!isPublicAddress(host)) throw new UnfetchableError(`not public: ${host}`)
      options.visits?.check(host)
      options.visits?.count(host)
      return send(url, options)
    }
    const addresses = await resolve(resolver(), host, options.signal)
    const arePublic = addresses.every(({ address }) => isPublicAddress(address))
    if (addresses.length === 0) throw new UnfetchableError(`no address found: ${host}`)
    if (!arePublic) throw new UnfetchableError(`not public: ${host}`)
    for (const { address } of addresses) options.visits?.check(address)
    return send(url, { ...options, lookup: lookupReturning(addresses) })
  }
}

/** A response in more pieces than this is cut if they are tiny. */
const MOST_TINY_PIECES = 4 * 1024

/**
 * The first bytes of a response. What comes after that many is cut off, with its connection.
 * Rejects if they come in thousands of tiny pieces.
 */
export async function readUpTo(response: Readable, mostBytes: number) {
  const chunks: Buffer[] = []
  let length = 0
  await new Promise<void>((resolve, reject) => {
    response
      .on('data', (chunk: Buffer) => {
        length += chunk.length
        const pieces = chunks.push(chunk)
        if (length >= mostBytes) response.destroy()
        else if (isInTinyPieces({ pieces, bytes: length }, MOST_TINY_PIECES))
          response.destroy(new UnfetchableError('a body in tiny pieces'))
      })
      .on('error', reject)
      .on('close', resolve)
  })
  return Buffer.concat(chunks).subarray(0, mostBytes)
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
 * It answers late, so that the caller, once it has the socket, sees each attempt to connect.
 */
const lookupReturning =
  (addresses: LookupAddress[]): LookupFunction =>
  (_host, { all }, done) => {
    const [first] = addresses
    if (all) setImmediate(done, null, addresses)
    else setImmediate(done, null, first?.address ?? '', first?.family)
  }

type SendOptions = RequestOptions & { lookup?: LookupFunction }

/** A server says once or twice that its answer takes a while. */
const MOST_INFORMATIONAL = 1_000

const send = (url: URL, { method = 'GET', headers, body, signal, visits, lookup }: SendOptions) =>
  new Promise<IncomingMessage>((onResponse, reject) => {
    const { request } = url.protocol === 'https:' ? https : http
    const options = { agent: false, method, headers, signal, ...(lookup && { lookup }) } as const
    const sent = request(url, options, (response) => {
      // A server that answers without reading the body could keep the connection for ever.
      response.on('close', () => sent.destroy())
      onResponse(response)
    })
    if (lookup && visits)
      sent.on('socket', (socket) => socket.on('connectionAttempt', visits.count))
    let informational = 0
    sent
      .on('information', () => {
        if (++informational === MOST_INFORMATIONAL)
          sent.destroy(new UnfetchableError('too many informational responses'))
      })
      .on('error', reject)
      // After a response of status 101 there is no other event. The signal cannot end this either.
      .on('close', () => reject(new UnfetchableError('closed without an answer')))
      .end(body)
  })
