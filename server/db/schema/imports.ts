import type { ImportKind } from '@parley/contract'
import {
  bigserial,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { appId } from './apps.ts'
import { referencesChannel } from './channels.ts'
import { createdAt, instant } from './columns.ts'

/** The import of an app that is running, and until when it keeps others out. */
export const imports = pgTable('imports', {
  appId: appId().primaryKey(),
  runId: uuid().notNull(),
  leasedUntil: instant().notNull(),
})

/**
 * Rows that an import has read of channels that nobody sees yet, until they are put in order.
 * `channel` is one whose line a run has read, `refresh` a member whose clients are to load their
 * channels again, `owner` a channel whose owner was erased meanwhile.
 */
export const importedRows = pgTable(
  'imported_rows',
  {
    appId: appId(),
    record: text().$type<Exclude<ImportKind, 'user' | 'member'> | 'refresh' | 'owner'>().notNull(),
    /** Unique among the records of its kind. */
    key: text().notNull(),
    channelId: uuid().notNull(),
    /** In the order of the file. */
    position: bigserial({ mode: 'number' }).notNull(),
    /** The line of the file. */
    line: integer().notNull(),
    /** The table that it becomes a row of. */
    row: jsonb().$type<Record<string, unknown>>().notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.appId, t.record, t.key] }),
    index('imported_rows_due').on(t.channelId, t.record, t.createdAt, t.position),
    referencesChannel(t).onDelete('cascade'),
  ],
)

/**
 * The progress of the import of a whole app, from the file of another deployment. The app is
 * deleted at 'infinity' until the end.
 */
export const appImports = pgTable('app_imports', {
  appId: appId().primaryKey(),
  /** The id of the file's export. */
  exportId: uuid().notNull(),
  /** How many batches of the file are stored, and the checksum of the file up to there. */
  batches: integer().notNull(),
  checksum: text().notNull(),
  updatedAt: createdAt(),
})
