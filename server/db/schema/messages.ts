import type { LinkPreview, Message } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  boolean,
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
import { referencesChannel } from './channels.ts'
import { createdAt, instant } from './columns.ts'
import { referencesUser } from './users.ts'

/** A deleted message stays as a tombstone: its content is gone, its seq is kept. */
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
    /** The rev with which it was sent, which is that of its `message.new`; null in older rows. */
    createdRev: integer(),
    /** Which of the author's messages in the channel this is, from 1; null in rows from before. */
    authorSeq: integer(),
    text: text().notNull(),
    mentions: text().array().notNull(),
    attachments: jsonb().notNull(),
    linkPreviews: jsonb().$type<LinkPreview[]>(),
    custom: jsonb().$type<Record<string, unknown>>(),
    /** Null: regular. */
    type: text().$type<Message['type']>(),
    /** True: it counts in no unread count. Null: it counts. */
    silent: boolean(),
    /** True: the text grows. False: it did. Null: it was sent whole. */
    streaming: boolean(),
    /** True: the author stopped appending without an end. */
    interrupted: boolean(),
    /** The root of the thread, never another reply. */
    parentId: uuid(),
    /** The message of this channel that it quotes. */
    quotedId: uuid(),
    replyCount: integer().notNull().default(0),
    clientId: text(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
    editedAt: instant(),
    deletedAt: instant(),
  },
  (t) => [
    unique().on(t.channelId, t.seq),
    // Most messages of a backend have no client id.
    uniqueIndex('messages_client_id')
      .on(t.channelId, t.userId, t.clientId)
      .concurrently()
      .where(sql`client_id is not null`),
    // Not the messages that are as they were sent, which are most: their revs follow their seqs.
    index('messages_changed')
      .on(t.channelId, t.rev)
      .concurrently()
      .where(sql`rev is distinct from created_rev`),
    // Another collation than the column's, so that look-ups by client id cannot use this index:
    // they would read all messages of the user.
    index('messages_own').on(t.channelId, sql`user_id collate "C"`, t.seq),
    index('messages_silent').on(t.channelId, t.seq, t.userId).concurrently().where(sql`silent`),
    index('messages_deleted').on(t.channelId, t.seq, t.userId).where(sql`deleted_at is not null`),
    // Only queries with this very condition can use it. With a plain one, look-ups by id would
    // choose it because it is small.
    index('messages_live')
      .on(t.channelId, t.seq)
      .concurrently()
      .where(sql`num_nulls(deleted_at) = 1`),
    // The same without replies: a long thread may lie between two of its messages.
    index('messages_roots')
      .on(t.channelId, t.seq)
      .concurrently()
      .where(sql`num_nulls(deleted_at, parent_id) = 2`),
    index().on(t.parentId, t.seq).where(sql`parent_id is not null`),
    // The same for replies: many deleted ones may lie between two that are not.
    index('messages_replies')
      .on(t.parentId, t.seq)
      .concurrently()
      .where(sql`parent_id is not null and num_nulls(deleted_at) = 1`),
    index('messages_quoting').on(t.quotedId).concurrently().where(sql`quoted_id is not null`),
    // No reference to the user: to delete one, PostgreSQL would look for it in all messages.
    referencesChannel(t).onDelete('cascade'),
  ],
)

/**
 * The messages whose text grows. `tail` is what was appended since the text was last stored in its
 * message. Of the whole text, `length` counts UTF-16 code units, and `characters` code points.
 */
export const messageStreams = pgTable(
  'message_streams',
  {
    messageId: uuid()
      .primaryKey()
      .references(() => messages.id, { onDelete: 'cascade' }),
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    tail: text().notNull().default(''),
    length: integer().notNull(),
    characters: integer().notNull(),
    appendedAt: createdAt(),
    storedAt: createdAt(),
  },
  (t) => [index('message_streams_of_app').on(t.appId, t.storedAt)],
)

/**
 * How many messages of each part of a channel are tombstones or silent: of each author, and of all
 * users as the author ''. Kept while the channel is locked.
 */
export const tombstoneCounts = pgTable(
  'tombstone_counts',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    userId: text().notNull(),
    /** Holds the messages whose seq, divided by TOMBSTONE_PART, is this. */
    part: integer().notNull(),
    count: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.channelId, t.userId, t.part] }),
    referencesChannel(t).onDelete('cascade'),
  ],
)

const messageId = () => uuid().references(() => messages.id, { onDelete: 'cascade' })

export const reactions = pgTable(
  'reactions',
  {
    appId: uuid().notNull(),
    messageId: messageId().notNull(),
    emoji: text().notNull(),
    userId: text().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.messageId, t.emoji, t.userId] }),
    referencesUser(t).onDelete('cascade'),
    index('reactions_of_user').on(t.appId, t.userId, t.messageId, t.emoji).concurrently(),
    // The first users of each emoji, of however many.
    index('reactions_first').on(t.messageId, t.emoji, t.createdAt, t.userId).concurrently(),
  ],
)

/**
 * How many users reacted with an emoji, where they are many: few are counted when they are read. A
 * trigger keeps it, so that servers of an earlier version do as well.
 */
export const reactionCounts = pgTable(
  'reaction_counts',
  { messageId: messageId().notNull(), emoji: text().notNull(), count: integer().notNull() },
  (t) => [primaryKey({ columns: [t.messageId, t.emoji] })],
)

export const pins = pgTable(
  'pins',
  {
    appId: uuid().notNull(),
    channelId: uuid().notNull(),
    messageId: messageId().primaryKey(),
    pinnedBy: text().notNull(),
    pinnedAt: createdAt(),
  },
  (t) => [index().on(t.channelId, t.pinnedAt), referencesChannel(t).onDelete('cascade')],
)

/** The preview of a URL, or that it has none, until the URL is to be fetched again. */
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
