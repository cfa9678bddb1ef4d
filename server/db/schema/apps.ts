import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt } from './columns.ts'

/** Facts about this database itself: the epoch of its event numbering. */
export const service = pgTable('service', { key: text().primaryKey(), value: text().notNull() })

export const apps = pgTable('apps', {
  id: uuid().primaryKey(),
  name: text().notNull(),
  createdAt: createdAt(),
})

/** The app that a row belongs to, and with which it is deleted. */
export const appId = () =>
  uuid()
    .notNull()
    .references(() => apps.id, { onDelete: 'cascade' })

/** Server API keys; only their SHA-256 is stored. */
export const apiKeys = pgTable('api_keys', {
  id: uuid().primaryKey(),
  appId: appId(),
  hash: text().notNull().unique(),
  createdAt: createdAt(),
})
