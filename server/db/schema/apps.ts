import type { AppSettings, AuditEntry, KeyScope } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  bigserial,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { createdAt, instant } from './columns.ts'

/** Facts about this database itself: the epoch of its event numbering. */
export const service = pgTable('service', { key: text().primaryKey(), value: text().notNull() })

export const apps = pgTable(
  'apps',
  {
    id: uuid().primaryKey(),
    name: text().notNull(),
    createdAt: createdAt(),
    /** When the app was disabled: its keys, tokens and sockets no longer work. */
    disabledAt: instant(),
    /** When the app was deleted. The cleanup purges what it had, and then this row. */
    deletedAt: instant(),
    /** After how many days its messages are deleted. */
    messageRetentionDays: integer(),
    /** Null: that of the server. */
    userAdminAccess: text().$type<AppSettings['userAdminAccess']>(),
    /** Limits that differ from the server's. */
    rateLimits: jsonb().$type<Partial<AppSettings['rateLimits']>>(),
  },
  (t) => [
    index('apps_to_purge').on(t.deletedAt).where(sql`deleted_at is not null`),
    index('apps_with_retention').on(t.id).where(sql`message_retention_days is not null`),
  ],
)

/** The app that a row belongs to, and with which it is deleted. */
export const appId = () =>
  uuid()
    .notNull()
    .references(() => apps.id, { onDelete: 'cascade' })

/** Server API keys; only their SHA-256 is stored. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    hash: text().notNull().unique(),
    createdAt: createdAt(),
    name: text(),
    scopes: text().array().$type<KeyScope[]>().notNull().default(['full']),
    expiresAt: instant(),
    /** Accurate to about a minute. */
    lastUsedAt: instant(),
  },
  (t) => [
    index().on(t.appId),
    index('api_keys_by_use').on(sql`greatest(created_at, last_used_at)`).concurrently(),
  ],
)

/** How many users of an app were active on a day, in UTC. */
export const activeUsers = pgTable(
  'active_users',
  { appId: appId(), day: date().notNull(), count: integer().notNull() },
  (t) => [primaryKey({ columns: [t.appId, t.day] })],
)

/**
 * The audit log. Its trigger refuses changes, and deletes except those of the retention. An entry
 * outlives its app, so that a deletion can be proved.
 */
export const audit = pgTable(
  'audit',
  {
    id: bigserial({ mode: 'number' }).primaryKey(),
    createdAt: createdAt(),
    appId: uuid(),
    actor: text().$type<AuditEntry['actor']['type']>().notNull(),
    keyId: uuid(),
    userId: text(),
    operation: text().notNull(),
    target: jsonb().$type<Record<string, unknown>>().notNull(),
    requestId: text(),
  },
  (t) => [
    // For the export of an app, and for servers of 0.2.0.
    index('audit_of_app').on(t.appId, t.id),
    index('audit_by_time').on(t.createdAt, t.id).concurrently(),
    // By an expression: for a plain column, PostgreSQL may read the index of all apps instead.
    index('audit_of_app_by_time')
      .on(t.appId, sql`greatest(created_at, '-infinity')`, t.id)
      .concurrently(),
  ],
)
