import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** The parameters of a URL that say how to encrypt. Neither driver gets to see them. */
const PARAMETERS = ['sslmode', 'ssl', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat']
/** Parameters that only libpq knows: a server would refuse them as settings. */
const LIBPQ_ONLY = ['channel_binding', 'gssencmode']

const MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const
type Mode = (typeof MODES)[number]
/** The modes of `ssl`, as node-postgres knows it. */
const SSL: Record<string, Mode> = {
  true: 'verify-full',
  1: 'verify-full',
  false: 'disable',
  0: 'disable',
  'no-verify': 'no-verify',
}

/**
 * Reads how to encrypt from a database URL, once for both drivers, which understand the same
 * parameters differently. The meaning is that of libpq: `require` encrypts, and verifies the
 * certificate only if `sslrootcert` names the CA; `verify-full` verifies it and the host's name.
 * `no-verify` never verifies.
 */
export function readTls(databaseUrl: string): { url: string; ssl: false | ConnectionOptions } {
  const url = new URL(databaseUrl)
  const given = Object.fromEntries(url.searchParams)
  for (const name of [...PARAMETERS, ...LIBPQ_ONLY]) url.searchParams.delete(name)
  return { url: url.href, ssl: tlsOptions(modeOf(given), { ...given, host: url.hostname }) }
}

type SslParameters = Partial<
  Record<'sslmode' | 'ssl' | 'sslrootcert' | 'sslcert' | 'sslkey', string>
>

function modeOf({ sslmode, ssl, sslrootcert }: SslParameters): Mode {
  const known = MODES.find((mode) => mode === sslmode) ?? SSL[ssl ?? '']
  if (sslmode !== undefined && known !== sslmode)
    throw new Error(`sslmode in DATABASE_URL: expected one of ${MODES.join(', ')}`)
  if (sslrootcert === 'system') return 'verify-full'
  if (known === 'require' && sslrootcert !== undefined) return 'verify-ca'
  return known ?? (sslrootcert === undefined ? 'disable' : 'verify-full')
}

function tlsOptions(
  mode: Mode,
  { sslrootcert, sslcert, sslkey, host }: SslParameters & { host: string },
): false | ConnectionOptions {
  if (mode === 'disable') return false
  const isVerified = mode === 'verify-ca' || mode === 'verify-full'
  return {
    // The name that is compared with the certificate where there is no SNI, as for an address.
    host: host.replace(/^\[|\]$/g, ''),
    rejectUnauthorized: isVerified,
    ...(sslrootcert !== undefined &&
      sslrootcert !== 'system' && { ca: read('sslrootcert', sslrootcert) }),
    ...(sslcert !== undefined && { cert: read('sslcert', sslcert) }),
    ...(sslkey !== undefined && { key: read('sslkey', sslkey) }),
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  }
}

/** The text of a certificate or key. OpenSSL would not say which setting names it. */
function read(name: keyof typeof contents, path: string) {
  const { what, parse } = contents[name]
  const attempt = <T>(work: () => T, problem: (code: unknown) => string) => {
    try {
      return work()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : 'error'
      throw new Error(`${name} in DATABASE_URL: ${path} ${problem(code)}`)
    }
  }
  const text = attempt(
    () => readFileSync(path, 'utf8'),
    (code) => `cannot be read (${code})`,
  )
  attempt(
    () => parse(text),
    () => `has no ${what}`,
  )
  return text
}

const certificate = { what: 'certificate', parse: (text: string) => new X509Certificate(text) }
const contents = {
  sslrootcert: certificate,
  sslcert: certificate,
  sslkey: { what: 'private key', parse: (text: string) => createPrivateKey(text) },
}
