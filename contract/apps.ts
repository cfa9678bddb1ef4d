import { z } from 'zod'
import { ApiKey, apiKey, keyId, keyOperations } from './api-keys.ts'
import * as field from './fields.ts'
import { expected } from './issues.ts'
import { grouped, limits, PAGE_END } from './limits.ts'
import { operation } from './operation.ts'

const id = field.appId()
const name = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'Name of the app.', examples: ['Acme Talk'] })
const visibleName = () =>
  field
    .name()
    // An empty one is refused for its length.
    .refine((value) => /^$|\S/.test(value), 'expected more than blanks')
    .meta({ pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$' })
const appCreatedAt = field.time('When the app was created.')

/** A whole number, or null: one sentence says what is allowed, whatever is wrong. */
function numberOrNull({ min, max, what }: { min: number; max: number; what: string }) {
  const problem = expected(`${what} from ${min} to ${max}, or null`)
  return z.int(problem).min(min, problem).max(max, problem).nullable()
}
const rate = (what: string, setting: string) =>
  numberOrNull({ min: 0, max: limits.appSettings.callsPerMinute, what: 'a whole number' }).meta({
    description: `${what} a minute; 0: no limit; null: that of the server (${setting}).`,
    examples: [null],
  })
const rateLimits = {
  tokens: rate('Tokens that a key and address may mint', 'RATE_LIMIT_TOKENS'),
  messages: rate('Messages of a user', 'RATE_LIMIT_MESSAGES'),
  requests: rate('Other calls of a user or key', 'RATE_LIMIT_REQUESTS'),
  appends: rate('Appends of a user to streamed messages', 'RATE_LIMIT_APPENDS'),
  appRequests: rate('Calls of the whole app', 'RATE_LIMIT_APP_REQUESTS'),
}
const settings = {
  messageRetentionDays: numberOrNull({
    min: 1,
    max: limits.appSettings.messageRetentionDays,
    what: 'whole days',
  }).meta({
    description:
      'After how many days a job deletes messages, as if their authors had: tombstones stay. ' +
      'Null: they are kept.',
    examples: [365],
  }),
  userAdminAccess: z
    .enum(['bearer', 'server'], expected('bearer, server or null'))
    .meta({
      id: 'UserAdminAccess',
      description: 'Who may administer users by a bearer token.',
      examples: ['server'],
    })
    .nullable()
    .meta({
      description:
        'Who may administer users by a bearer token: every user (`bearer`), or only holders of ' +
        'an admin token (`server`). Null: as USER_ADMIN_ACCESS says.',
      examples: ['server'],
    }),
}

/** The operator's settings of an app. */
export const AppSettings = z
  .object({
    ...settings,
    rateLimits: z.object(rateLimits).meta({
      description:
        'Calls allowed a minute, counted by each server, or by all together with REDIS_URL.',
    }),
  })
  .meta({ id: 'AppSettings', description: 'What the operator has set for an app.' })
export type AppSettings = z.infer<typeof AppSettings>

/** An app, as the operator sees it. */
export const App = z
  .object({
    id,
    name: name(z.string()),
    enabled: z.boolean().meta({
      description: 'Whether its keys, tokens and sockets work.',
      examples: [true],
    }),
    disabledAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'When it was disabled; null: it is not.', examples: [null] }),
    settings: AppSettings,
    keys: z.array(ApiKey).meta({ description: 'Oldest first.' }),
    createdAt: appCreatedAt,
  })
  .meta({ id: 'App', description: 'An app (tenant), as the operator sees it.' })
export type App = z.infer<typeof App>

const counted = (what: string) =>
  z
    .object({
      count: z.int().meta({ description: 'How many.', examples: [1_204] }),
      isExact: z.boolean().meta({
        description: 'False: an estimate from the statistics of the database.',
        examples: [true],
      }),
    })
    .meta({ description: `${what} Exact up to ${grouped(limits.usage.counted)}.` })

const Ref = z.object({ appId: id })

/** Apps (tenants) and their API keys, for the operator. */
export const apps = {
  list: operation({
    method: 'GET',
    path: '/admin/apps',
    auth: 'admin',
    summary: 'List apps',
    description:
      'Lists every app with its API keys, oldest first. The keys themselves are not stored. ' +
      PAGE_END,
    input: z.object({
      limit: field.pageSize({ default: 1_000, max: 1_000 }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      apps: z.array(App).meta({ description: 'Oldest first.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  create: operation({
    method: 'POST',
    path: '/admin/apps',
    auth: 'admin',
    status: 201,
    summary: 'Create an app',
    description:
      'Creates a tenant with its own users, channels and messages. The API key, which is named ' +
      '"First key", is shown only in this response: the server stores a hash of it.',
    input: z.object({ name: name(visibleName()) }),
    output: z.object({ id, name: name(z.string()), apiKey, keyId, createdAt: appCreatedAt }),
  }),
  get: operation({
    method: 'GET',
    path: '/admin/apps/{appId}',
    auth: 'admin',
    summary: 'Get an app',
    description: 'Returns one app with its settings and API keys.',
    input: Ref,
    output: App,
  }),
  update: operation({
    method: 'PATCH',
    path: '/admin/apps/{appId}',
    auth: 'admin',
    summary: 'Rename, disable or configure an app',
    description:
      'Changes the fields that are given; unknown names are an error. While an app is disabled, ' +
      'its sockets are closed and all calls of its keys and users are refused with APP_DISABLED, ' +
      'on every server at once; one that misses the notification follows within ' +
      `${limits.revocationSeconds} seconds. Nothing is lost: once it is enabled again, the same ` +
      'keys and tokens work.',
    input: Ref.extend({
      name: name(visibleName()).optional(),
      enabled: App.shape.enabled.optional(),
      settings: z
        .strictObject({
          messageRetentionDays: settings.messageRetentionDays.optional(),
          userAdminAccess: settings.userAdminAccess.optional(),
          rateLimits: z
            .strictObject({
              tokens: rateLimits.tokens.optional(),
              messages: rateLimits.messages.optional(),
              requests: rateLimits.requests.optional(),
              appends: rateLimits.appends.optional(),
              appRequests: rateLimits.appRequests.optional(),
            })
            .optional()
            .meta({ description: 'The limits to change.', examples: [{ messages: 120 }] }),
        })
        .optional()
        .meta({
          description: 'The settings to change; null returns one to what the server has.',
          examples: [{ messageRetentionDays: 365 }],
        }),
    }).strict(),
    output: App,
    idempotent: true,
  }),
  delete: operation({
    method: 'DELETE',
    path: '/admin/apps/{appId}',
    auth: 'admin',
    summary: 'Delete an app',
    description:
      'Deletes an app for good. Its keys, tokens and sockets end at once; a background job then ' +
      'deletes everything that it has, in small steps, and notes in the audit log when it is done.',
    input: Ref,
    output: field.Success,
  }),
  usage: operation({
    method: 'GET',
    path: '/admin/apps/{appId}/usage',
    auth: 'admin',
    summary: 'Get the usage of an app',
    description:
      'Counts what an app has, at a low cost whatever its size: large counts and the storage are ' +
      'estimates. Active users are counted once a day each.',
    input: Ref.extend({
      days: z
        .int()
        .min(1)
        .max(limits.usage.days.max)
        .default(limits.usage.days.default)
        .meta({ description: 'For how many days, today included.', examples: [30] }),
    }),
    output: z.object({
      users: counted('Users who are not deleted.'),
      channels: counted('Channels that are not deleted.'),
      messages: counted('Messages sent to these channels, deleted ones included.'),
      connectedUsers: counted('Users who are connected now, once for each server.'),
      storageBytes: z
        .int()
        .nullable()
        .meta({
          description:
            'About how many bytes of the largest tables and their indexes are its, without the ' +
            'events of the last day: an estimate by its share of the rows; null while the ' +
            'database has no statistics.',
          examples: [52_428_800],
        }),
      activeUsers: z
        .array(
          z.object({
            day: z.iso.date().meta({ description: 'In UTC.', examples: ['2026-11-21'] }),
            users: z.int().meta({ description: 'Users who were active.', examples: [318] }),
          }),
        )
        .meta({ description: 'The newest day first; days without any are left out.' }),
    }),
  }),
  ...keyOperations,
}
