import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { formatIssues, limits } from '@parley/contract'
import { z } from 'zod'

/** The configuration. This is the only file that reads the environment; `.env.example` lists it all. */
export type Config = ReturnType<typeof readConfig>

/** Origins of development servers that may call when ALLOWED_ORIGINS is unset. */
const DEVELOPMENT_PORTS = [3000, 3002, 4500, 5173, 5175, 5500, 5502, 6001, 6007]
export const developmentOrigins = DEVELOPMENT_PORTS.flatMap((port) => [
  `http://localhost:${port}`,
  `http://127.0.0.1:${port}`,
])

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected ${min} to ${max}`)
const secret = z
  .string()
  .refine((value) => Buffer.byteLength(value) >= 32, 'expected at least 32 bytes')
// biome-ignore format: one step a line says less
const list = z.string().transform((value) => value.split(',').map((entry) => entry.trim()).filter(Boolean))
const origin = z
  .string()
  .refine(isOrigin, 'expected origins like https://example.com, without trailing slash, or *')
const adminKey = z
  .string()
  .regex(/^[!-~]{16,}$/, 'expected at least 16 printable ASCII characters without space')

/** Every variable there is. */
export const Variables = z.object({
  NODE_ENV: z.string().optional(),
  PORT: wholeNumber(0, 65_535).default(5501),
  HOST: z.string().optional(),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'expected a postgres:// URL' })
    .optional(),
  DATA_DIR: z.string().default('.data'),
  DATABASE_POOL_SIZE: wholeNumber(2, 1_000).default(10),
  ADMIN_API_KEY: adminKey.optional(),
  JWT_SECRET: secret.optional(),
  JWT_PREVIOUS_SECRETS: list.pipe(z.array(secret)).default([]),
  ALLOWED_ORIGINS: list.pipe(z.array(origin)).optional(),
  RATE_LIMIT_TOKENS: wholeNumber(0, 1_000_000).default(limits.rates.tokens),
  RATE_LIMIT_MESSAGES: wholeNumber(0, 1_000_000).default(limits.rates.messages),
  RATE_LIMIT_REQUESTS: wholeNumber(0, 1_000_000).default(limits.rates.requests),
  TRUST_PROXY: z.string().optional().transform(parseTrustProxy),
  USER_ADMIN_ACCESS: z.enum(['bearer', 'server']).optional(),
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'expected an http(s) URL' }).optional(),
  INVITE_URL: z
    .url({ protocol: /^https?$/, error: 'expected an http(s) URL' })
    .refine((url) => url.includes('{token}'), 'expected {token} where the token goes')
    .optional(),
  PRESENCE_GRACE_SECONDS: wholeNumber(0, 3_600).default(limits.presenceGraceSeconds),
  JOBS: z.enum(['on', 'external', 'off']).default('on'),
  LINK_PREVIEW_ALLOW_HOSTS: list
    .pipe(
      z.array(
        z.string().regex(/^[^\s/@]+:\d+$/, 'expected hosts with their ports like wiki.intranet:80'),
      ),
    )
    .default([]),
  PUSH_SECRET_KEY: z.string().optional(),
  PUSH_API_URL: z
    .url({ protocol: /^https?$/, error: 'expected an http(s) URL' })
    .default('http://localhost:3000'),
  PUSH_TENANT_ID: z.string().optional(),
  PUSH_WORKFLOW_NEW_MESSAGE: z.string().default('new-message'),
  PUSH_WORKFLOW_MENTION: z.string().default('mention'),
  PUSH_WORKFLOW_CHANNEL_INVITE: z.string().default('channel-invite'),
  PUSH_WORKFLOW_REACTION: z.string().default('reaction'),
  PUSH_WORKFLOW_THREAD_REPLY: z.string().default('thread-reply'),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `expected one of ${LOG_LEVELS.join(', ')}`).default('info'),
})

/** Reads `.env` if there is one, then the environment. A bad value throws one line that names the variable. */
export function readConfig(variables: NodeJS.ProcessEnv = loadProcessEnv()) {
  const given = Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''),
  )
  const parsed = Variables.safeParse(given)
  if (!parsed.success) {
    // Only the variable's name: a position in its list would not help to find the bad value.
    const issues = parsed.error.issues.map((issue) => ({ ...issue, path: issue.path.slice(0, 1) }))
    throw new Error(formatIssues(issues))
  }
  const env = parsed.data
  const isProduction = env.NODE_ENV === 'production'
  if (isProduction && env.JWT_SECRET === undefined)
    throw new Error('JWT_SECRET: required with NODE_ENV=production')
  const host = env.HOST ?? (isProduction ? '0.0.0.0' : '127.0.0.1')
  return {
    isProduction,
    port: env.PORT,
    host,
    databaseUrl: env.DATABASE_URL,
    dataDir: resolve(env.DATA_DIR),
    poolSize: env.DATABASE_POOL_SIZE,
    adminKey: env.ADMIN_API_KEY,
    jwtSecret: env.JWT_SECRET,
    previousJwtSecrets: env.JWT_PREVIOUS_SECRETS,
    allowedOrigins: env.ALLOWED_ORIGINS ?? developmentOrigins,
    rateLimits: {
      tokens: env.RATE_LIMIT_TOKENS,
      messages: env.RATE_LIMIT_MESSAGES,
      requests: env.RATE_LIMIT_REQUESTS,
    },
    trustProxy: env.TRUST_PROXY,
    userAdminAccess:
      env.USER_ADMIN_ACCESS ?? (isProduction ? ('server' as const) : ('bearer' as const)),
    publicUrl: env.PUBLIC_URL?.replace(/\/+$/, ''),
    inviteUrl: env.INVITE_URL,
    presenceGraceSeconds: env.PRESENCE_GRACE_SECONDS,
    jobs: env.JOBS,
    previews: { allowedHosts: env.LINK_PREVIEW_ALLOW_HOSTS.map((entry) => entry.toLowerCase()) },
    push: pushSettings(env),
    metricsPort: env.METRICS_PORT,
    logLevel: env.LOG_LEVEL,
    isStartedByNpm: variables.npm_lifecycle_event !== undefined,
  }
}

/** The push provider and what our five kinds of pushes are called there; nothing without a key. */
const pushSettings = (env: z.output<typeof Variables>) =>
  env.PUSH_SECRET_KEY === undefined
    ? undefined
    : {
        secretKey: env.PUSH_SECRET_KEY,
        apiUrl: env.PUSH_API_URL.replace(/\/+$/, ''),
        tenantId: env.PUSH_TENANT_ID,
        workflows: {
          'new-message': env.PUSH_WORKFLOW_NEW_MESSAGE,
          mention: env.PUSH_WORKFLOW_MENTION,
          'channel-invite': env.PUSH_WORKFLOW_CHANNEL_INVITE,
          reaction: env.PUSH_WORKFLOW_REACTION,
          'thread-reply': env.PUSH_WORKFLOW_THREAD_REPLY,
        },
      }

function loadProcessEnv() {
  if (existsSync('.env')) process.loadEnvFile('.env')
  return process.env
}

/** As browsers send it, so that it can be compared; web views have schemes of their own, like capacitor://localhost. */
function isOrigin(value: string) {
  if (value === '*') return true
  if (!URL.canParse(value)) return false
  const { protocol, origin } = new URL(value)
  return ['http:', 'https:'].includes(protocol)
    ? origin === value
    : /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(value)
}

/** A number of proxies in front of the server, or their addresses; never everybody. */
function parseTrustProxy(value: string | undefined, context: z.RefinementCtx) {
  if (value === undefined) return false as const
  const hops = /^\d+$/.test(value) ? Number(value) : undefined
  if (hops !== undefined) return (_: string, hop: number) => hop < hops
  const isList = value.split(',').every((entry) => isNetwork(entry.trim()))
  if (!isList)
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
  return (
    bits === undefined ||
    (/^\d+$/.test(bits) && Number(bits) > 0 && Number(bits) <= (version === 4 ? 32 : 128))
  )
}
