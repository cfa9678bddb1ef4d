import { sql } from 'drizzle-orm'
import {
  bigserial,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { appId } from './apps.ts'
import { createdAt, instant } from './columns.ts'

/**
 * The outbox and the recovery log in one: a row for each rev of a channel and each offset of a
 * user's stream. `envelope` is `{type, payload}` as JSON, that of most new messages in short form
 * (`core/stored-envelope.ts`); `type` repeats its type for queries.
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
    // Not the events of new messages, which are most: they are found by the message's first rev.
    index('events_of_message')
      .on(t.messageId)
      .concurrently()
      .where(sql`message_id is not null and ascii(envelope) <> 14`),
    index().on(t.createdAt),
  ],
)

/**
 * Messages that were deleted while many stored events had their text. Until a cleanup has taken it
 * out of all of them, readers are shown `tombstone` in place of the message's own events, and what
 * `quote` says in its quotes. Also those to which many had reacted; where only the reactions are
 * left, their topic is one without events, so that no reader looks at them.
 */
export const textRemovals = pgTable(
  'text_removals',
  {
    messageId: uuid().primaryKey(),
    appId: uuid().notNull(),
    topic: text().notNull(),
    /** The texts are out of all events up to this offset. */
    after: integer().notNull(),
    /** The rev of the deletion. Later events never had the text. */
    rev: integer().notNull(),
    tombstone: text().notNull(),
    quote: jsonb().notNull(),
  },
  (t) => [index().on(t.topic), index().on(t.appId)],
)

/** Numbers the events of a user's topic. */
export const userStreams = pgTable(
  'user_streams',
  { appId: appId(), userId: text().notNull(), lastOffset: integer().notNull().default(0) },
  (t) => [primaryKey({ columns: [t.appId, t.userId] })],
)

/** Sockets by user, on every node. Unlogged (by its migration): a crash ends the sockets too. */
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

/**
 * The running servers, and those that have stopped, for as long as their users count as online. One
 * whose heartbeat is too old is removed by the others.
 */
export const nodes = pgTable('nodes', {
  id: text().primaryKey(),
  beatAt: createdAt(),
  stoppedAt: instant(),
})

/** Jobs staged by a transaction, until they are moved to the queue after its commit. */
export const stagedJobs = pgTable(
  'staged_jobs',
  {
    id: bigserial({ mode: 'number' }).primaryKey(),
    task: text().notNull(),
    payload: json().notNull(),
    createdAt: createdAt(),
  },
  (t) => [index('staged_jobs_of_task').on(t.task, t.id).concurrently()],
)

/** The running processes that carry out jobs. */
export const jobWorkers = pgTable('job_workers', {
  id: text().primaryKey(),
  seenAt: instant().notNull(),
})
