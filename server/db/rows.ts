import type { channels, members, messages } from './schema.ts'

/** Rows as queries answer them: picked from the tables, timestamps as ISO 8601 strings. */
export type ChannelRow = typeof channels.$inferSelect
export type MemberRow = typeof members.$inferSelect
export type MessageRow = typeof messages.$inferSelect
