import type { ChannelType, Role } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { appId } from './apps.ts'
import { createdAt, instant } from './columns.ts'
import { referencesUser } from './users.ts'
import { referencesWorkspace } from './workspaces.ts'

/** `last_seq` counts messages, `rev` durable changes; both move only while the row is locked. */
export const channels = pgTable(
  'channels',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    cid: text().notNull(),
    type: text().$type<ChannelType>().notNull(),
    name: text(),
    image: text(),
    description: text(),
    workspaceId: uuid(),
    createdBy: text().notNull(),
    /** True: only the backend may send messages. Null: not frozen. */
    frozen: boolean(),
    custom: jsonb().$type<Record<string, unknown>>(),
    clientId: text(),
    /** The sorted pair of a direct message. */
    dmKey: text(),
    lastSeq: integer().notNull().default(0),
    rev: integer().notNull().default(0),
    memberCount: integer().notNull().default(0),
    lastActivityAt: createdAt(),
    /**
     * The hour of the last activity of an open channel. It is what the list of open channels is
     * found by: an index on the time itself would be written with each message.
     */
    activeHour: instant().notNull().default(sql`date_trunc('hour', now(), 'UTC')`),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    /** `infinity`: an import is filling the channel, and nobody sees it yet. */
    deletedAt: instant(),
  },
  (t) => [
    unique().on(t.appId, t.id),
    unique().on(t.appId, t.createdBy, t.clientId),
    uniqueIndex().on(t.appId, t.dmKey).where(sql`deleted_at is null`),
    uniqueIndex().on(t.appId, t.cid).where(sql`deleted_at is null`),
    index('channels_open')
      .on(t.appId, t.type, t.activeHour)
      .concurrently()
      .where(sql`type in ('public', 'livestream') and deleted_at is null`),
    // Like `users_search`. Its condition differs from that of `channels_open`, or PostgreSQL would
    // read that index from end to end.
    index('channels_search')
      .using('gin', sql`search_keys(app_id::text || type, name, 1)`)
      .concurrently()
      .where(sql`type in ('public', 'livestream') and num_nulls(deleted_at) = 1`)
      .with({ gin_pending_list_limit: 256 }),
    // The deletion of a workspace looks for all of its channels, its list counts those not deleted.
    index('channels_by_workspace')
      .on(t.workspaceId, t.deletedAt)
      .concurrently()
      .where(sql`workspace_id is not null`),
    uniqueIndex('channels_importing')
      .on(t.appId, t.dmKey)
      .concurrently()
      .where(sql`deleted_at = 'infinity'`),
    index('channels_to_purge').on(t.deletedAt).where(sql`deleted_at is not null`),
    referencesWorkspace(t),
    referencesUser({ appId: t.appId, userId: t.createdBy }),
  ],
)

type ChannelColumns = { appId: AnyPgColumn; channelId: AnyPgColumn }
export const referencesChannel = ({ appId, channelId }: ChannelColumns) =>
  foreignKey({ columns: [appId, channelId], foreignColumns: [channels.appId, channels.id] })

export const members = pgTable(
  'members',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    role: text().$type<Role>().notNull(),
    /** The member has seen everything up to here. */
    lastReadSeq: integer().notNull().default(0),
    /** The badge counts the messages of others after this one, except deleted ones. */
    unreadAfterSeq: integer().notNull().default(0),
    starred: boolean().notNull().default(false),
    muted: boolean().notNull().default(false),
    custom: jsonb().$type<Record<string, unknown>>(),
    joinedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId] }),
    referencesChannel(t).onDelete('cascade'),
    referencesUser(t).onDelete('cascade'),
    index().on(t.channelId, t.joinedAt, t.userId),
    // Few of many members: an owner who leaves is followed by one of them.
    index('members_with_role')
      .on(t.channelId, t.role, t.joinedAt, t.userId)
      .concurrently()
      .where(sql`role <> 'member'`),
    index().on(t.appId, t.userId),
  ],
)

/** Users who left a channel, where the erasure may still find messages and reactions of theirs. */
export const formerMembers = pgTable(
  'former_members',
  { appId: uuid().notNull(), channelId: uuid().notNull(), userId: text().notNull() },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId] }),
    referencesChannel(t).onDelete('cascade'),
    index().on(t.appId, t.userId),
  ],
)

/** When a member's read position passed a seq: gives each receipt its exact time. */
export const readMarks = pgTable(
  'read_marks',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    seq: integer().notNull(),
    readAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId, t.seq] }),
    foreignKey({
      columns: [t.channelId, t.userId],
      foreignColumns: [members.channelId, members.userId],
    }).onDelete('cascade'),
  ],
)
