import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

/** The caller's read position, and unread counts. */
export const reads = {
  mark: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/read',
    auth: 'user',
    idempotent: true,
    summary: 'Mark a channel read',
    description:
      'Sets your unread count of the channel to 0 and moves your read position: to `messageId`, ' +
      'or without it to the newest message. The read position never moves back.',
    input: z.object({
      channelId: field.channelId(),
      messageId: field.messageId().optional().meta({ description: 'The last message seen.' }),
    }),
    output: field.Success.extend({
      lastReadSeq: z.int().meta({ description: '`seq` of your read position.', examples: [12] }),
      unreadCount: z.int().meta({
        description: 'Unread messages in the channel now: those that came meanwhile.',
        examples: [0],
      }),
      unreadVersion: z
        .int()
        .meta({ description: 'Version of `unreadCount`, as in channels.', examples: [42] }),
    }),
  }),
  unreadCount: operation({
    method: 'GET',
    path: '/api/channels/unread-count',
    auth: 'user',
    summary: 'Count unread messages',
    description: 'Counts the unread messages in all your channels, including muted ones.',
    input: z.object({}),
    output: z.object({
      count: z.int().meta({ description: 'Unread messages in all channels.', examples: [3] }),
      version: field.totalVersion(),
    }),
  }),
}
