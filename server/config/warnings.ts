import type { Config } from './index.ts'

/**
 * Warnings about settings that are valid but probably a mistake. `wsUrl` is where clients connect
 * to.
 */
export function warningsOf(config: Config, wsUrl: string) {
  const warnings = config.isProduction ? productionWarnings(config, wsUrl) : []
  if (config.userAdminAccess === 'bearer')
    warnings.push(
      'USER_ADMIN_ACCESS=bearer: any user may change and delete other users of the app. ' +
        'Prefer "server".',
    )
  return warnings
}

function productionWarnings(config: Config, wsUrl: string) {
  const { databaseUrl, publicUrl, inviteUrl, adminKey, jwtSecret } = config
  const { trustProxy, allowedOrigins, areOriginsGiven } = config
  const warnings: string[] = []
  if (databaseUrl === undefined)
    warnings.push(
      'DATABASE_URL is unset: using the embedded PostgreSQL, which is meant for development.',
    )
  if (publicUrl === undefined)
    warnings.push(`PUBLIC_URL is unset: clients are told to connect to ${wsUrl}`)
  if (publicUrl?.startsWith('http:'))
    warnings.push('PUBLIC_URL is http: tokens and messages travel unencrypted. Use https.')
  if (publicUrl?.startsWith('https:') && trustProxy === false)
    warnings.push(
      'TRUST_PROXY is unset, but PUBLIC_URL is that of a proxy: all its clients seem to come ' +
        'from one address and share the limits of one. Set the number of proxies.',
    )
  if (!areOriginsGiven)
    warnings.push(
      'ALLOWED_ORIGINS is unset: browsers may call from pages of localhost only. ' +
        'Set the origins of your front ends.',
    )
  if (allowedOrigins.length === 0)
    warnings.push(
      'ALLOWED_ORIGINS has no origin: browsers may call from no page of another address. ' +
        'Set the origins of your front ends.',
    )
  if (allowedOrigins.includes('*'))
    warnings.push('ALLOWED_ORIGINS=*: the pages of every site may call. It is for development.')
  if (inviteUrl === undefined)
    warnings.push(
      'INVITE_URL is unset: invites lead to PUBLIC_URL/invites/{token}, which this server does ' +
        'not serve. Set the page of your application that accepts them.',
    )
  if (adminKey === undefined)
    warnings.push('ADMIN_API_KEY is unset: calls of /admin are refused, so no app can be created.')
  for (const [name, secret] of Object.entries({ JWT_SECRET: jwtSecret, ADMIN_API_KEY: adminKey }))
    if (secret !== undefined && repeatsPattern(secret)) warnings.push(`${name} ${EASILY_GUESSED}`)
  return warnings
}

const EASILY_GUESSED =
  'repeats a short pattern: it is easy to guess. Set one that `openssl rand -hex 32` made.'

/** Whether it is one short text again and again, like `aaaa` or `changemechangeme`. */
function repeatsPattern(secret: string) {
  const longest = Math.floor(secret.length / 2)
  const lengths = Array.from({ length: longest }, (_, index) => index + 1)
  return lengths.some((length) => secret.slice(length) === secret.slice(0, -length))
}
