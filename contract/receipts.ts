import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { MessageRef } from './messages.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

const { id: userId, name, image } = UserSummary.shape
const Profile = z.object({ userId, name, image })

/** A user who has read a message, and when. */
export const Reader = Profile.extend({
  readAt: field.time(
    "When the user's read position reached the message.",
    '2026-11-21T09:33:00.000Z',
  ),
}).meta({ id: 'Reader', description: 'A user who has read a message, and when.' })
export type Reader = z.infer<typeof Reader>

const readers = z.array(Reader).meta({
  description:
    `In the order they read it; at most ${limits.readersShown}, and as many as an answer has ` +
    'room for.',
})
const readCount = z
  .int()
  .meta({ description: 'How many members have read it, without its author.', examples: [1] })
const Ref = z.object({ channelId: field.channelId() })

const ReadStatus = Profile.extend({
  lastReadMessageId: field
    .messageId()
    .nullable()
    .meta({ description: 'The message at the read position; null if nothing was read.' }),
  lastReadSeq: z
    .int()
    .meta({ description: '`seq` of the read position; 0 if nothing was read.', examples: [12] }),
}).meta({ id: 'ReadStatus', description: 'How far a member has read.' })

/** Which members have read which messages. */
export const receipts = {
  mark: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/receipts',
    auth: 'user',
    idempotent: true,
    summary: 'Mark messages read up to one',
    description:
      'Marks that message and everything before it as read; everything after it stays unread. ' +
      'The read position never moves back.',
    input: Ref.extend({ messageId: field.messageId() }),
    output: field.Success.extend({
      lastReadMessageId: field
        .messageId()
        .meta({ description: 'The message at the read position now.' }),
    }),
  }),
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/receipts/messages/{messageId}/receipts',
    auth: 'user',
    summary: 'List who has read a message',
    description:
      'Lists who has read a message, and when, without its author. `readCount` is exact; ' +
      `\`readBy\` has at most ${limits.readersShown} entries.`,
    input: MessageRef,
    output: z.object({
      readBy: readers,
      readCount,
      totalMembers: z
        .int()
        .meta({ description: 'How many members the channel has.', examples: [3] }),
    }),
  }),
  query: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/receipts/query',
    auth: 'user',
    idempotent: true,
    summary: 'List who has read several messages',
    description:
      `Returns the receipts of up to ${limits.receiptsPerCall} messages by message id. Unknown ` +
      'messages, and those of other channels, are left out. `readCount` is exact; an answer ' +
      'shows as many readers as it has room for, of each message alike.',
    input: Ref.extend({
      messageIds: z
        .array(field.messageId())
        .max(limits.receiptsPerCall)
        .meta({
          description: `At most ${limits.receiptsPerCall}.`,
          examples: [[field.examples.messageId]],
        }),
    }),
    output: z.object({
      receipts: z.record(z.string(), z.object({ readCount, readers })).meta({
        description: 'By message id.',
        examples: [{ [field.examples.messageId]: { readCount: 0, readers: [] } }],
      }),
    }),
  }),
  status: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/receipts/read-status',
    auth: 'user',
    summary: 'List how far members have read',
    description:
      'Lists the read position of each member, in the order they joined. A page may end early, ' +
      'where an answer has no more room.',
    input: Ref.extend({
      limit: field.pageSize({ default: limits.membersPerCall, max: limits.membersPerCall }),
      offset: field.offset(),
      cursor: field.cursor(),
    }),
    output: z.object({
      members: z.array(ReadStatus).meta({ description: 'In the order they joined.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
}
