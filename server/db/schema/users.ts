import type { Contract, Input } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { DELETED_USER_NAME } from '../sql.ts'
import { appId } from './apps.ts'
import { createdAt, instant } from './columns.ts'

/** A deleted user keeps a wiped row, which messages and channels refer to. The id can be reused. */
export const users = pgTable(
  'users',
  {
    appId: appId(),
    id: text().notNull(),
    name: text(),
    /** The name that others see. */
    displayName: text()
      .notNull()
      .generatedAlwaysAs(
        sql.raw(
          `case when deleted_at is null then coalesce(name, id) else '${DELETED_USER_NAME}' end`,
        ),
      ),
    email: text(),
    image: text(),
    custom: jsonb().notNull().default({}),
    /** Tokens carry the generation they were minted in; older ones are revoked. */
    tokenGeneration: integer().notNull().default(0),
    lastActiveAt: instant(),
    /** Grows with each change of whether they are online that is announced. */
    presenceVersion: integer().notNull().default(0),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    /** When the name or image last changed: nodes that missed the note find it by this. */
    profileChangedAt: instant(),
    deletedAt: instant(),
    /** When a deleted user was fully erased. Only after that can the id become a new user's. */
    forgottenAt: instant(),
    /** When the id became that of another person: what is older is not this user's. */
    reusedAt: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.appId, t.id] }),
    index().on(t.appId, t.displayName, t.id),
    // The keys of a name are all its parts of up to three characters, apart for each app.
    index('users_search')
      .using('gin', sql`search_keys(app_id::text, display_name, 1)`)
      .concurrently()
      .where(sql`num_nulls(deleted_at) = 1`)
      .with({ gin_pending_list_limit: 256 }),
    index('users_with_changed_profile')
      .on(t.profileChangedAt)
      .concurrently()
      .where(sql`profile_changed_at is not null`),
    index('users_to_forget')
      .on(t.deletedAt)
      .where(sql`deleted_at is not null and forgotten_at is null`),
    // The same by app: each has its turn, however many users another one has deleted.
    index('users_to_forget_of_app')
      .on(t.appId, t.deletedAt)
      .concurrently()
      .where(sql`deleted_at is not null and forgotten_at is null`),
  ],
)

export const referencesUser = ({ appId, userId }: { appId: AnyPgColumn; userId: AnyPgColumn }) =>
  foreignKey({ columns: [appId, userId], foreignColumns: [users.appId, users.id] })

type Device = Input<Contract['devices']['create']>

/** Devices that get push notifications. A token belongs to one user at a time. */
export const devices = pgTable(
  'devices',
  {
    id: uuid().primaryKey(),
    appId: uuid().notNull(),
    userId: text().notNull(),
    platform: text().$type<Device['platform']>().notNull(),
    provider: text().$type<Device['provider']>().notNull(),
    token: text().notNull(),
    deviceId: text(),
    appVersion: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    unique().on(t.appId, t.token),
    unique().on(t.appId, t.userId, t.deviceId),
    referencesUser(t).onDelete('cascade'),
  ],
)

/** A user's choice of notifications, where it differs from the defaults of the contract. */
export const preferences = pgTable(
  'preferences',
  {
    appId: uuid().notNull(),
    userId: text().notNull(),
    chosen: jsonb().notNull(),
    updatedAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.userId] }), referencesUser(t).onDelete('cascade')],
)
