import type { channels, devices, members, messages } from './schema/index.ts'

/** Rows as queries return them: picked from the tables, timestamps as ISO 8601 strings. */
export type ChannelRow = typeof channels.$inferSelect
export type DeviceRow = typeof devices.$inferSelect
export type MemberRow = typeof members.$inferSelect
export type MessageRow = typeof messages.$inferSelect
