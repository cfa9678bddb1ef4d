import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

/** How far the caller has read, and what is left (SPEC "Channels", DESIGN §3 Unread). */
export const reads = {
  /** Marks the channel read: its badge becomes 0. The read position never moves back. */
  mark: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/read',
    auth: 'user',
    summary: 'Mark a channel read',
    description:
      'Sets the unread count of the channel to 0 for the caller. Without `messageId` everything up to now counts as read; with it the read position moves to that message, never back.',
    input: z.object({
      channelId: field.channelId(),
      messageId: field.messageId().optional().meta({ description: 'The last message seen.' }),
    }),
    output: field.Success.extend({
      lastReadSeq: z
        .int()
        .meta({ description: "Seq of the caller's read position.", examples: [12] }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Unread messages over all channels of the caller. */
  unreadCount: operation({
    method: 'GET',
    path: '/api/channels/unread-count',
    auth: 'user',
    summary: 'Count unread messages',
    description: 'Unread messages over all channels of the caller, muted ones included.',
    input: z.object({}),
    output: z.object({ count: z.int().meta({ description: 'Total unread.', examples: [3] }) }),
  }),
}
