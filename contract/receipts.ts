import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { MessageRef } from './messages.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

const { id: userId, name, image } = UserSummary.shape
const Face = z.object({ userId, name, image })

/** Who has read a message, and when (SPEC "Read receipts"). */
export const Reader = Face.extend({
  readAt: field.timestamp().meta({
    description: 'When the read position passed the message.',
    examples: ['2026-11-21T09:33:00.000Z'],
  }),
}).meta({
  id: 'Reader',
  description: 'Who has read a message, and when.',
})
export type Reader = z.infer<typeof Reader>

const readers = z.array(Reader).meta({ description: 'In the order they read; at most 100.' })
const readCount = z
  .int()
  .meta({ description: 'How many members have read it, the author not counted.', examples: [1] })
const Ref = z.object({ channelId: field.channelId() })

/** How far a member has read (SPEC "Member read status"). */
const ReadStatus = Face.extend({
  lastReadMessageId: field
    .messageId()
    .nullable()
    .meta({ description: 'The message at the read position; null when nothing was read.' }),
  lastReadSeq: z
    .int()
    .meta({ description: 'Seq of the read position; 0 when nothing was read.', examples: [12] }),
}).meta({ id: 'ReadStatus', description: 'How far a member has read.' })

/** Who has read what (SPEC "Read receipts", DESIGN §4 receipts). */
export const receipts = {
  /** Marks messages read up to one of them: what follows it stays unread. Never moves back. */
  mark: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/receipts',
    auth: 'user',
    summary: 'Mark messages read up to one',
    description:
      'Everything up to that message counts as read, what follows it as unread. The read position never moves back.',
    input: Ref.extend({ messageId: field.messageId() }),
    output: field.Success.extend({
      lastReadMessageId: field
        .messageId()
        .meta({ description: 'The message at the read position now.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Who has read a message. */
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/receipts/messages/{messageId}/receipts',
    auth: 'user',
    summary: 'Who has read a message',
    description:
      'Who has read a message, and when; its author is not counted. `readCount` is exact, `readBy` holds at most 100.',
    input: MessageRef,
    output: z.object({
      readBy: readers,
      readCount,
      totalMembers: z
        .int()
        .meta({ description: 'How many members the channel has.', examples: [3] }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** The same for up to 200 messages; unknown ones are left out. */
  query: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/receipts/query',
    auth: 'user',
    summary: 'Who has read these messages',
    description:
      'Receipts of up to 200 messages by message id. Unknown ones, and those of other channels, are left out.',
    input: Ref.extend({
      messageIds: z
        .array(field.messageId())
        .max(limits.receiptsPerCall)
        .meta({
          description: 'At most 200.',
          examples: [['019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90']],
        }),
    }),
    output: z.object({
      receipts: z.record(z.string(), z.object({ readCount, readers })).meta({
        description: 'By message id.',
        examples: [{ '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90': { readCount: 0, readers: [] } }],
      }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** How far each member has read. */
  status: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/receipts/read-status',
    auth: 'user',
    summary: 'How far members have read',
    description: 'The read position of each member, in the order they joined.',
    input: Ref.extend({
      limit: field.pageSize({ default: limits.membersPerCall, max: limits.membersPerCall }),
      offset: field.offset(),
    }),
    output: z.object({
      members: z.array(ReadStatus).meta({ description: 'In the order they joined.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
