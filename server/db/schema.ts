import type { LinkPreview } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  bigserial,
  boolean,
  foreignKey,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'

/**
 * Every table, once. Each carries `app_id`, and every query takes it from the credentials. Queries are written in SQL;
 * the types of their rows are picked from these tables (see rows.ts).
 */

const instant = () => timestamp({ withTimezone: true, mode: 'string' })
const createdAt = () => instant().notNull().defaultNow()
const appId = () =>
  uuid()
    .notNull()
    .references(() => apps.id, { onDelete: 'cascade' })

/** Facts about this database itself: the epoch of its event numbering. */
export const service = pgTable('service', { key: text().primaryKey(), value: text().notNull() })

export const apps = pgTable('apps', {
  id: uuid().primaryKey(),
  name: text().notNull(),
  createdAt: createdAt(),
})

/** Server API keys; only their SHA-256 is stored. */
export const apiKeys = pgTable('api_keys', {
  id: uuid().primaryKey(),
  appId: appId(),
  hash: text().notNull().unique(),
  createdAt: createdAt(),
})

/** A deleted user's row stays, wiped, for the messages and channels that name it; the same id later is a new user. */
export const users = pgTable(
  'users',
  {
    appId: appId(),
    id: text().notNull(),
    name: text(),
    /** How others see the user. */
    displayName: text()
      .notNull()
      .generatedAlwaysAs(
        sql`case when deleted_at is null then coalesce(name, id) else 'Deleted user' end`,
      ),
    email: text(),
    image: text(),
    custom: jsonb().notNull().default({}),
    /** Tokens carry the generation they were minted in; older ones are revoked. */
    tokenGeneration: integer().notNull().default(0),
    lastActiveAt: instant(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    deletedAt: instant(),
    /** When nothing of a deleted user was left. Only then the id may become a new user's. */
    forgottenAt: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.appId, t.id] }),
    index().on(t.appId, t.displayName, t.id),
    index('users_to_forget')
      .on(t.deletedAt)
      .where(sql`deleted_at is not null and forgotten_at is null`),
  ],
)

/** Numbers the events of a user's topic. */
export const userStreams = pgTable(
  'user_streams',
  { appId: appId(), userId: text().notNull(), lastOffset: integer().notNull().default(0) },
  (t) => [primaryKey({ columns: [t.appId, t.userId] })],
)

export const workspaces = pgTable(
  'workspaces',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    name: text().notNull(),
    type: text().notNull(),
    image: text(),
    createdBy: text().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [unique().on(t.appId, t.id)],
)

export const workspaceMembers = pgTable(
  'workspace_members',
  {
    appId: uuid().notNull(),
    workspaceId: uuid().notNull(),
    userId: text().notNull(),
    role: text().notNull(),
    joinedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.workspaceId, t.userId] }),
    foreignKey({
      columns: [t.appId, t.workspaceId],
      foreignColumns: [workspaces.appId, workspaces.id],
    }).onDelete('cascade'),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }).onDelete(
      'cascade',
    ),
    index().on(t.appId, t.userId),
  ],
)

/** Invite links; only the SHA-256 of their tokens is stored. */
export const workspaceInvites = pgTable(
  'workspace_invites',
  {
    id: uuid().primaryKey(),
    appId: uuid().notNull(),
    workspaceId: uuid().notNull(),
    tokenHash: text().notNull().unique(),
    role: text().notNull(),
    /** Null: unlimited. */
    maxUses: integer(),
    uses: integer().notNull().default(0),
    createdBy: text().notNull(),
    createdAt: createdAt(),
    expiresAt: instant().notNull(),
  },
  (t) => [
    foreignKey({
      columns: [t.appId, t.workspaceId],
      foreignColumns: [workspaces.appId, workspaces.id],
    }).onDelete('cascade'),
    index().on(t.expiresAt),
  ],
)

/** Who has joined by an invite: each counts once. */
export const workspaceInviteUses = pgTable(
  'workspace_invite_uses',
  {
    inviteId: uuid()
      .notNull()
      .references(() => workspaceInvites.id, { onDelete: 'cascade' }),
    userId: text().notNull(),
    usedAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.inviteId, t.userId] })],
)

/** `last_seq` numbers messages, `rev` every durable change; both move only while the row is locked. */
export const channels = pgTable(
  'channels',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    cid: text().notNull(),
    type: text({
      enum: ['messaging', 'group', 'team', 'livestream', 'public', 'private'],
    }).notNull(),
    name: text(),
    image: text(),
    description: text(),
    workspaceId: uuid(),
    createdBy: text().notNull(),
    clientId: text(),
    /** The sorted pair of a direct message. */
    dmKey: text(),
    lastSeq: integer().notNull().default(0),
    rev: integer().notNull().default(0),
    memberCount: integer().notNull().default(0),
    lastActivityAt: createdAt(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    deletedAt: instant(),
  },
  (t) => [
    unique().on(t.appId, t.id),
    unique().on(t.appId, t.createdBy, t.clientId),
    uniqueIndex().on(t.appId, t.dmKey).where(sql`deleted_at is null`),
    uniqueIndex().on(t.appId, t.cid).where(sql`deleted_at is null`),
    index().on(t.appId, t.type, t.lastActivityAt),
    index().on(t.workspaceId).where(sql`workspace_id is not null and deleted_at is null`),
    index('channels_to_purge').on(t.deletedAt).where(sql`deleted_at is not null`),
    foreignKey({
      columns: [t.appId, t.workspaceId],
      foreignColumns: [workspaces.appId, workspaces.id],
    }),
    foreignKey({ columns: [t.appId, t.createdBy], foreignColumns: [users.appId, users.id] }),
  ],
)

export const members = pgTable(
  'members',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    role: text({ enum: ['owner', 'moderator', 'member'] }).notNull(),
    /** Has seen everything up to here. */
    lastReadSeq: integer().notNull().default(0),
    /** The badge counts the others' live messages after this one. */
    unreadAfterSeq: integer().notNull().default(0),
    starred: boolean().notNull().default(false),
    muted: boolean().notNull().default(false),
    joinedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId] }),
    foreignKey({
      columns: [t.appId, t.channelId],
      foreignColumns: [channels.appId, channels.id],
    }).onDelete('cascade'),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }).onDelete(
      'cascade',
    ),
    index().on(t.channelId, t.joinedAt, t.userId),
    index().on(t.appId, t.userId),
  ],
)

/** Who was a member and may have left messages and reactions behind: where the clean-up after a deleted user has to look. */
export const formerMembers = pgTable(
  'former_members',
  { appId: uuid().notNull(), channelId: uuid().notNull(), userId: text().notNull() },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId] }),
    foreignKey({
      columns: [t.appId, t.channelId],
      foreignColumns: [channels.appId, channels.id],
    }).onDelete('cascade'),
    index().on(t.appId, t.userId),
  ],
)

/** A deleted message stays as a tombstone: its content gone, its seq kept. */
export const messages = pgTable(
  'messages',
  {
    id: uuid().primaryKey(),
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    seq: integer().notNull(),
    /** The channel's rev at the message's last change. */
    rev: integer().notNull(),
    text: text().notNull(),
    mentions: text().array().notNull(),
    attachments: jsonb().notNull(),
    linkPreviews: jsonb().$type<LinkPreview[]>(),
    /** The root of the thread, never another reply. */
    parentId: uuid(),
    replyCount: integer().notNull().default(0),
    clientId: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    editedAt: instant(),
    deletedAt: instant(),
  },
  (t) => [
    unique().on(t.channelId, t.seq),
    unique().on(t.channelId, t.userId, t.clientId),
    index().on(t.channelId, t.rev),
    index().on(t.channelId, t.userId, t.seq),
    index('messages_deleted').on(t.channelId, t.seq, t.userId).where(sql`deleted_at is not null`),
    index().on(t.parentId, t.seq).where(sql`parent_id is not null`),
    foreignKey({
      columns: [t.appId, t.channelId],
      foreignColumns: [channels.appId, channels.id],
    }).onDelete('cascade'),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }),
  ],
)

export const reactions = pgTable(
  'reactions',
  {
    appId: uuid().notNull(),
    messageId: uuid()
      .notNull()
      .references(() => messages.id, { onDelete: 'cascade' }),
    emoji: text().notNull(),
    userId: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.messageId, t.emoji, t.userId] }),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }).onDelete(
      'cascade',
    ),
    index().on(t.appId, t.userId),
  ],
)

export const pins = pgTable(
  'pins',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    messageId: uuid()
      .primaryKey()
      .references(() => messages.id, { onDelete: 'cascade' }),
    pinnedBy: text().notNull(),
    pinnedAt: createdAt(),
  },
  (t) => [
    index().on(t.channelId, t.pinnedAt),
    foreignKey({
      columns: [t.appId, t.channelId],
      foreignColumns: [channels.appId, channels.id],
    }).onDelete('cascade'),
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
    index('read_marks_read_at').using('brin', t.readAt),
  ],
)

/** Devices that get push notifications. A token belongs to one user at a time. */
export const devices = pgTable(
  'devices',
  {
    id: uuid().primaryKey(),
    appId: uuid().notNull(),
    userId: text().notNull(),
    platform: text({ enum: ['ios', 'android', 'relay'] }).notNull(),
    provider: text({ enum: ['fcm', 'apns', 'relay'] }).notNull(),
    token: text().notNull(),
    deviceId: text(),
    appVersion: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  (t) => [
    unique().on(t.appId, t.token),
    unique().on(t.appId, t.userId, t.deviceId),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }).onDelete(
      'cascade',
    ),
  ],
)

/** What a user wants to be notified of, as far as it differs from the defaults of the contract. */
export const preferences = pgTable(
  'preferences',
  {
    appId: uuid().notNull(),
    userId: text().notNull(),
    chosen: jsonb().notNull(),
    updatedAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.appId, t.userId] }),
    foreignKey({ columns: [t.appId, t.userId], foreignColumns: [users.appId, users.id] }).onDelete(
      'cascade',
    ),
  ],
)

/** Sockets by user, on every node; emptied by a crash, like the sockets. Made unlogged by its migration. */
export const connections = pgTable(
  'connections',
  {
    nodeId: text().notNull(),
    appId: uuid().notNull(),
    userId: text().notNull(),
    connectedAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.nodeId, t.appId, t.userId] }), index().on(t.appId, t.userId)],
)

/** The running servers; one that has not said for 45 s that it lives is taken for dead. */
export const nodes = pgTable('nodes', { id: text().primaryKey(), beatAt: createdAt() })

/**
 * The outbox and the recovery log in one: a row for each rev of a channel and each offset of a
 * user's stream. `envelope` is `{type, payload}` as JSON; `type` repeats its type for queries.
 */
export const events = pgTable(
  'events',
  {
    topic: text().notNull(),
    offset: integer().notNull(),
    type: text().notNull(),
    envelope: text().notNull(),
    messageId: uuid(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.topic, t.offset] }),
    index().on(t.messageId).where(sql`message_id is not null`),
    index().on(t.createdAt),
  ],
)

/** What was found behind a URL, or that nothing was, until it is to be looked at anew. */
export const linkPreviews = pgTable(
  'link_previews',
  {
    appId: appId(),
    /** SHA-256 of the URL: URLs are too long for an index. */
    urlHash: text().notNull(),
    preview: jsonb().$type<LinkPreview>(),
    expiresAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.urlHash] }), index().on(t.expiresAt)],
)

/** Processes that carry out jobs, while they live. */
export const jobWorkers = pgTable('job_workers', {
  id: text().primaryKey(),
  seenAt: instant().notNull(),
})

/** Jobs promised by a transaction, until the drainer hands them to the queue. */
export const stagedJobs = pgTable('staged_jobs', {
  id: bigserial({ mode: 'number' }).primaryKey(),
  task: text().notNull(),
  payload: json().notNull(),
  createdAt: createdAt(),
})
