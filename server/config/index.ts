import { resolve } from 'node:path'
import { formatIssues, limits } from '@parley/contract'
import { z } from 'zod'
import { withSchema } from '../db/schema-name.ts'
import { conflictsOf, DEFAULT_METRICS_HOST, DEFAULT_PORT, defaultHost } from './conflicts.ts'
import { readEnvFile } from './env-file.ts'
import { withSecretFiles } from './secret-files.ts'
import {
  adminKey,
  baseUrl,
  headerKey,
  hostWithPort,
  httpUrl,
  list,
  oneOf,
  origin,
  postgresUrl,
  redisPrefix,
  redisUrl,
  secret,
  share,
  trustProxy,
  wholeNumber,
  workers,
} from './values.ts'

/** The configuration. Only this file reads the environment; `.env.example` lists every variable. */
export type Config = ReturnType<typeof readConfig>

/** Development servers on these ports may call when ALLOWED_ORIGINS is unset. */
const DEVELOPMENT_PORTS = [3000, 3001, 3002, 4173, 4500, 5173, 5174, 5175, 5500, 5502, 6001, 6007]
export const developmentOrigins = DEVELOPMENT_PORTS.flatMap((port) => [
  `http://localhost:${port}`,
  `http://127.0.0.1:${port}`,
])

/**
 * In production a proxy in front checks the health every few seconds. Elsewhere there is none, and
 * a developer who presses Ctrl-C would have to wait.
 */
const SHUTDOWN_DELAY_SECONDS = { production: 5, elsewhere: 0 }
/** In production a send adds less than 100 bytes to the log, on average. */
const LOG_SAMPLE = { production: 0.25, elsewhere: 1 }
const BYTES_PER_MB = 1024 * 1024
const ENVIRONMENTS = ['development', 'test', 'production'] as const
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/** Every variable, with its format and default. */
export const Variables = z.object({
  // Anything else, like `prod`, would be development: with a playground and keys on the screen.
  NODE_ENV: oneOf(ENVIRONMENTS).optional(),
  PORT: wholeNumber(0, 65_535).default(DEFAULT_PORT),
  HOST: z.string().optional(),
  DATABASE_URL: postgresUrl.optional(),
  DATABASE_SCHEMA: z
    .string()
    .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,49}$/, 'expected a name of at most 50 of a-z, 0-9 and _')
    .optional(),
  EMBEDDED_DATABASE: oneOf(['yes']).optional(),
  DEMO_APP: oneOf(['yes']).optional(),
  MIGRATE_ON_START: oneOf(['on', 'off']).default('on'),
  DATA_DIR: z.string().default('.data'),
  DATABASE_POOL_SIZE: wholeNumber(2, 1_000).default(10),
  DATABASE_WAIT_SECONDS: wholeNumber(0, 600).default(30),
  REDIS_URL: redisUrl.optional(),
  REDIS_PREFIX: redisPrefix.default('parley'),
  ADMIN_API_KEY: adminKey.optional(),
  JWT_SECRET: secret.optional(),
  JWT_PREVIOUS_SECRETS: list.pipe(z.array(secret)).default([]),
  ALLOWED_ORIGINS: list.pipe(z.array(origin)).optional(),
  RATE_LIMIT_TOKENS: wholeNumber(0, 1_000_000).default(limits.rates.tokens),
  RATE_LIMIT_MESSAGES: wholeNumber(0, 1_000_000).default(limits.rates.messages),
  RATE_LIMIT_REQUESTS: wholeNumber(0, 1_000_000).default(limits.rates.requests),
  RATE_LIMIT_APPENDS: wholeNumber(0, 1_000_000).default(limits.rates.appends),
  RATE_LIMIT_APP_REQUESTS: wholeNumber(0, 1_000_000).default(0),
  TRUST_PROXY: trustProxy,
  USER_ADMIN_ACCESS: oneOf(['bearer', 'server']).optional(),
  PUBLIC_URL: baseUrl.optional(),
  INVITE_URL: httpUrl
    .refine((url) => url.includes('{token}'), 'expected {token} where the token goes')
    .optional(),
  SOCKETS_PER_USER: wholeNumber(0, 1_000_000).default(limits.realtime.socketsPerUser),
  SOCKETS_PER_APP: wholeNumber(0, 1_000_000).default(0),
  CONNECTIONS_PER_ADDRESS: wholeNumber(0, 1_000_000).default(0),
  EVENT_MEMORY_MB: wholeNumber(0, 1_000_000).default(limits.realtime.eventMemoryMb),
  SEND_MEMORY_MB: wholeNumber(8, 1_000_000).default(limits.realtime.sendMemoryMb),
  SHUTDOWN_DELAY_SECONDS: wholeNumber(0, 300).optional(),
  PRESENCE_GRACE_SECONDS: wholeNumber(0, 3_600).default(limits.presenceGraceSeconds),
  PURGE_EMPTY_AFTER_DAYS: wholeNumber(0, 36_500).default(0),
  CONSOLE: oneOf(['on', 'off']).default('on'),
  AUDIT_RETENTION_DAYS: wholeNumber(0, 36_500).default(365),
  JOBS: oneOf(['on', 'external', 'off']).default('on'),
  LINK_PREVIEW_ALLOW_HOSTS: list.pipe(z.array(hostWithPort)).default([]),
  WEBHOOK_ALLOW_HOSTS: list.pipe(z.array(hostWithPort)).default([]),
  PUSH_SECRET_KEY: headerKey.optional(),
  PUSH_API_URL: baseUrl.default('http://localhost:3000'),
  PUSH_TENANT_ID: z.string().optional(),
  PUSH_WORKFLOW_NEW_MESSAGE: z.string().default('new-message'),
  PUSH_WORKFLOW_MENTION: z.string().default('mention'),
  PUSH_WORKFLOW_CHANNEL_INVITE: z.string().default('channel-invite'),
  PUSH_WORKFLOW_REACTION: z.string().default('reaction'),
  PUSH_WORKFLOW_THREAD_REPLY: z.string().default('thread-reply'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  WORKERS: workers.default(1),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  METRICS_HOST: z.string().default(DEFAULT_METRICS_HOST),
  LOG_SAMPLE: share.optional(),
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
})

/**
 * Reads the environment and, if there is one, `.env`; the environment takes precedence. An error of
 * one line names every variable that is bad, or missing.
 */
export function readConfig(environment: NodeJS.ProcessEnv = loadProcessEnv()) {
  const variables = parseVariables(environment)
  const isProduction = variables.NODE_ENV === 'production'
  const host = variables.HOST ?? defaultHost(isProduction)
  const userAdminAccess =
    variables.USER_ADMIN_ACCESS ?? (isProduction ? ('server' as const) : ('bearer' as const))
  const shutdownDelaySeconds =
    variables.SHUTDOWN_DELAY_SECONDS ??
    SHUTDOWN_DELAY_SECONDS[isProduction ? 'production' : 'elsewhere']
  return {
    isProduction,
    port: variables.PORT,
    host,
    databaseUrl: databaseUrlOf(variables),
    migrateOnStart: variables.MIGRATE_ON_START === 'on',
    dataDir: resolve(variables.DATA_DIR),
    poolSize: variables.DATABASE_POOL_SIZE,
    waitSeconds: variables.DATABASE_WAIT_SECONDS,
    redis: variables.REDIS_URL && { target: variables.REDIS_URL, prefix: variables.REDIS_PREFIX },
    adminKey: variables.ADMIN_API_KEY,
    hasConsole: variables.CONSOLE === 'on',
    wantsDemoApp: variables.DEMO_APP === 'yes',
    jwtSecret: variables.JWT_SECRET,
    previousJwtSecrets: variables.JWT_PREVIOUS_SECRETS,
    allowedOrigins: variables.ALLOWED_ORIGINS ?? developmentOrigins,
    areOriginsGiven: variables.ALLOWED_ORIGINS !== undefined,
    rateLimits: {
      tokens: variables.RATE_LIMIT_TOKENS,
      messages: variables.RATE_LIMIT_MESSAGES,
      requests: variables.RATE_LIMIT_REQUESTS,
      appends: variables.RATE_LIMIT_APPENDS,
      appRequests: variables.RATE_LIMIT_APP_REQUESTS,
    },
    trustProxy: variables.TRUST_PROXY,
    userAdminAccess,
    publicUrl: variables.PUBLIC_URL?.replace(/\/+$/, ''),
    inviteUrl: variables.INVITE_URL,
    socketsPerUser: variables.SOCKETS_PER_USER,
    socketsPerApp: variables.SOCKETS_PER_APP,
    connectionsPerAddress: variables.CONNECTIONS_PER_ADDRESS,
    eventMemoryBytes: variables.EVENT_MEMORY_MB * BYTES_PER_MB,
    sendMemoryBytes: variables.SEND_MEMORY_MB * BYTES_PER_MB,
    presenceGraceSeconds: variables.PRESENCE_GRACE_SECONDS,
    purgeEmptyAfterDays: variables.PURGE_EMPTY_AFTER_DAYS,
    auditRetentionDays: variables.AUDIT_RETENTION_DAYS,
    jobs: variables.JOBS,
    previews: {
      allowedHosts: variables.LINK_PREVIEW_ALLOW_HOSTS.map((entry) => entry.toLowerCase()),
    },
    webhooks: {
      allowedHosts: variables.WEBHOOK_ALLOW_HOSTS.map((entry) => entry.toLowerCase()),
      mustBeHttps: isProduction,
    },
    push: pushSettings(variables),
    sendsSpans: variables.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    workers: variables.WORKERS,
    metricsPort: variables.METRICS_PORT,
    metricsHost: variables.METRICS_HOST,
    logLevel: variables.LOG_LEVEL,
    logSample: variables.LOG_SAMPLE ?? LOG_SAMPLE[isProduction ? 'production' : 'elsewhere'],
    shutdownDelayMs: shutdownDelaySeconds * 1_000,
    isStartedByNpm: environment.npm_lifecycle_event !== undefined,
  }
}

type ParsedVariables = z.output<typeof Variables>

function parseVariables(environment: NodeJS.ProcessEnv): ParsedVariables {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value))
  const { values, problems } = withSecretFiles(given)
  const { data, error } = Variables.safeParse(values)
  // Only the variable's name: a position in its list would not help to find the bad value.
  const issues = error?.issues.map((issue) => ({ ...issue, path: issue.path.slice(0, 1) })) ?? []
  const all = [...problems, ...issues.map((issue) => formatIssues([issue])), ...conflictsOf(given)]
  if (data && all.length === 0) return data
  throw new Error([...new Set(all)].join('; '))
}

/** The database with its schema, if one is set; undefined for the embedded database. */
function databaseUrlOf(variables: ParsedVariables) {
  const { DATABASE_URL: databaseUrl, DATABASE_SCHEMA: schema } = variables
  return databaseUrl && schema ? withSchema(databaseUrl, schema) : databaseUrl
}

/** The push provider, and its workflow for each kind of push; undefined without a key. */
function pushSettings(variables: ParsedVariables) {
  if (variables.PUSH_SECRET_KEY === undefined) return undefined
  return {
    secretKey: variables.PUSH_SECRET_KEY,
    apiUrl: variables.PUSH_API_URL.replace(/\/+$/, ''),
    tenantId: variables.PUSH_TENANT_ID,
    workflows: {
      'new-message': variables.PUSH_WORKFLOW_NEW_MESSAGE,
      mention: variables.PUSH_WORKFLOW_MENTION,
      'channel-invite': variables.PUSH_WORKFLOW_CHANNEL_INVITE,
      reaction: variables.PUSH_WORKFLOW_REACTION,
      'thread-reply': variables.PUSH_WORKFLOW_THREAD_REPLY,
    },
  }
}

/** Passed by the first process of several to the others, beside their environment. */
export const handedToWorker = () => process.env[HANDED]
export const handToWorker = (handed: string) => ({ [HANDED]: handed })
const HANDED = 'PARLEY_WORKER'

/** Works even if the rest of the environment is invalid. */
export const isProductionProcess = () => process.env.NODE_ENV === 'production'

function loadProcessEnv() {
  for (const [name, value] of Object.entries(readEnvFile().variables)) process.env[name] ??= value
  return process.env
}
