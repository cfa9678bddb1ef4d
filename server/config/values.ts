import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { expected } from '@parley/contract'
import { z } from 'zod'
import { parseRedisUrl } from '../core/redis-url.ts'

export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, expected(inWords(values)))
const inWords = (values: readonly string[]) =>
  values.length > 1 ? `${values.slice(0, -1).join(', ')} or ${values.at(-1)}` : values.join()
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine(
      (value) => /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max,
      expected(`a whole number from ${min} to ${max}`),
    )
    .transform(Number)
export const share = z
  .string()
  .regex(/^(0|1|0?\.\d+)$/, expected('a number from 0 to 1'))
  .transform(Number)
export const secret = z
  .string()
  .refine(
    (value) => Buffer.byteLength(value.trim()) >= 32,
    'expected at least 32 bytes, blanks around them not counted',
  )
export const list = z.string().transform(splitList)
const NO_POSTGRES_URL = 'expected a postgres:// URL'
/** With several hosts, the driver would try each in turn without a pause while none accepts. */
export const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: NO_POSTGRES_URL, abort: true })
  .refine(isEncoded, {
    error: 'expected a password in percent-encoding: @ is %40, / %2F, ? %3F, # %23 and % %25',
    abort: true,
  })
  .refine(hasOneHost, 'expected one host, such as that of a proxy before several')
  .pipe(
    z
      .url({ error: NO_POSTGRES_URL })
      .refine((url) => !/[?&]search_path=/.test(url), 'expected DATABASE_SCHEMA, not search_path'),
  )
export const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http(s) URL' })
/** Paths are appended to it, and clients or errors may show it. */
export const baseUrl = httpUrl.refine(
  (url) => !/[?#@]/.test(url),
  'expected no query, fragment, user or password',
)
export const origin = z
  .string()
  .refine(
    isOrigin,
    'expected origins like https://example.com, without trailing slash or wildcard, or only *',
  )
export const adminKey = z
  .string()
  .regex(/^[!-~]{16,}$/, 'expected at least 16 printable ASCII characters without space')
/** A key sent in a header: only characters that a header may have. */
export const headerKey = z
  .string()
  .regex(/^[!-~]+$/, 'expected printable ASCII characters without space')
export const hostWithPort = z
  .string()
  .regex(/^[^\s/@]+:\d+$/, 'expected hosts with their ports like wiki.intranet:80')
export const workers = z.union(
  [z.literal('auto').transform(() => availableParallelism()), wholeNumber(1, 256)],
  expected('auto, or a whole number from 1 to 256'),
)
export const redisUrl = z.string().transform((url, context) => {
  const target = parseRedisUrl(url)
  if (target) return target
  context.addIssue({
    code: 'custom',
    message:
      'expected redis://host:port, redis+sentinel://host:port,host:port/name or ' +
      'redis+cluster://host:port,host:port, with rediss for TLS',
  })
  return z.NEVER
})
export const redisPrefix = z
  .string()
  .regex(/^[\w.-]{1,50}$/, 'expected at most 50 of letters, digits, point, - and _')
export const trustProxy = z.string().optional().transform(parseTrustProxy)

function splitList(value: string) {
  const entries = value.split(',').map((entry) => entry.trim())
  return entries.filter((entry) => entry !== '')
}

/**
 * Whether it is `*` or an origin exactly as browsers send it, so that the two can be compared. Web
 * views have schemes of their own, like capacitor://localhost.
 */
function isOrigin(value: string) {
  if (value === '*') return true
  // Origins are compared as they are, so that `https://*.example.com` would allow none.
  if (value.includes('*') || !URL.canParse(value)) return false
  const { protocol, origin } = new URL(value)
  return ['http:', 'https:'].includes(protocol)
    ? origin === value
    : /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(value)
}

/** The number of proxies in front of the server, or their addresses; never all addresses. */
function parseTrustProxy(value: string | undefined, context: z.RefinementCtx) {
  if (value === undefined) return false as const
  const hops = /^\d+$/.test(value) ? Number(value) : undefined
  if (hops !== undefined) return (_: string, hop: number) => hop < hops
  const hasOnlyNetworks = value.split(',').every((entry) => isNetwork(entry.trim()))
  if (!hasOnlyNetworks)
    context.addIssue({
      code: 'custom',
      message: 'expected a number of proxies, or addresses and networks like 10.0.0.0/8',
    })
  return value
}

function isNetwork(entry: string) {
  const [address = '', bits] = entry.split('/')
  const version = isIP(address)
  if (version === 0) return false
  if (bits === undefined) return true
  const mostBits = version === 4 ? 32 : 128
  return /^\d+$/.test(bits) && Number(bits) > 0 && Number(bits) <= mostBits
}

/**
 * A % that encodes nothing is one of the password. An @ after the first / ? or # shows that these
 * are of the password, too: what is before them would be taken for the host, and named in errors.
 * Parameters of the URL may have one.
 */
function isEncoded(url: string) {
  const [beforeParameters = ''] = url.slice(url.indexOf('://') + 3).split(/[?&]\w+=/)
  const [, ...rest] = beforeParameters.split(/[/?#]/)
  return !/%(?![\da-f]{2})/i.test(beforeParameters) && !rest.join('').includes('@')
}

/** By the host as the driver reads it; a user or a password may have commas. */
function hasOneHost(url: string) {
  const [authority = ''] = url.slice(url.indexOf('://') + 3).split(/[?/]/)
  return !/,|%2c/i.test(authority.slice(authority.indexOf('@') + 1))
}
