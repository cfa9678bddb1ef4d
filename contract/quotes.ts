import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { UserSummary } from './users.ts'

/** The part of a quoted message that is shown. */
export const QuotedMessage = z
  .object({
    id: field.messageId(),
    seq: z.int().meta({ description: 'Its number in the channel.', examples: [9] }),
    rev: z.int().meta({
      description: 'Its `rev`: of two copies, the one with the higher one is newer.',
      examples: [28],
    }),
    userId: field.userId().meta({ description: 'Its author.' }),
    user: UserSummary.meta({ description: 'Its author.' }),
    text: z.string().meta({
      description: `The first ${limits.quotedTextLength} characters; empty if it was deleted.`,
      examples: ['Soup or salad?'],
    }),
    attachmentCount: z.int().meta({ description: 'How many attachments it has.', examples: [0] }),
    attachmentType: z
      .string()
      .nullable()
      .meta({ description: 'The type of the first of them.', examples: [null] }),
    deletedAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'When it was deleted.', examples: [null] }),
  })
  .meta({ id: 'QuotedMessage', description: 'What a message shows of one that it quotes.' })
export type QuotedMessage = z.infer<typeof QuotedMessage>
