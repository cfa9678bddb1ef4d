import { z } from 'zod'
import { Attachment } from './attachments.ts'
import { customData } from './custom.ts'
import { ErrorBody } from './errors.ts'
import * as field from './fields.ts'
import { formatIssues } from './issues.ts'
import { grouped, limits } from './limits.ts'

/** The kind of a message: written by a user, or sent by the backend itself. */
export const MessageType = z.enum(['regular', 'system']).meta({
  id: 'MessageType',
  description: '`regular`: written by a user. `system`: sent by the backend.',
  examples: ['regular'],
})

/** The content of a message. */
export const content = {
  text: field.text({ max: limits.textLength }).meta({
    description:
      `At most ${grouped(limits.textLength)} characters; may be empty if there are attachments. ` +
      '`@name` mentions a user.',
    examples: ['Hello @ben'],
  }),
  attachments: z
    .array(Attachment)
    .max(limits.attachments)
    .default([])
    .meta({ description: `At most ${limits.attachments}.` }),
}
type DraftContent = { text: string; attachments?: unknown[]; streaming?: boolean | undefined }
/** A message that grows may begin empty. */
export const hasContent = ({ text, attachments = [], streaming = false }: DraftContent) =>
  text !== '' || attachments.length > 0 || streaming
export const emptyContent = {
  error: 'expected at least 1 character, or an attachment',
  path: ['text'],
}

/** A message as its sender gives it, apart from its channel and its key. */
export const draftFields = {
  ...content,
  parentId: field.messageId().optional().meta({ description: 'The message to reply to.' }),
  quotedMessageId: field
    .messageId()
    .optional()
    .meta({ description: 'The message to quote, of the same channel.' }),
  custom: customData({ title: 'CustomMessage' }).optional(),
  type: MessageType.optional().meta({
    description: '`regular` for users, `system` for the backend: the only ones they may send.',
  }),
  silent: z
    .boolean()
    .optional()
    .meta({
      description: 'Whether it is sent without a push, and counts in no unread count.',
      examples: [false],
    }),
}

/** One message of `POST /api/channels/{channelId}/messages/batch`. */
export const MessageDraft = z
  .object({ ...draftFields, clientId: field.clientId() })
  .refine(hasContent, emptyContent)
  .meta({ id: 'MessageDraft', description: 'A message to send, with a key of its own.' })

/** A valid message, or what is wrong with it: one bad message does not refuse the others. */
const lenientDraft = z
  .union([
    MessageDraft.transform((draft) => ({ draft })),
    z.unknown().transform((given) => ({
      problem: formatIssues(MessageDraft.safeParse(given).error?.issues ?? []),
    })),
  ])
  .meta({
    description: 'A message to send, with a key of its own.',
    // The document shows only what a message should look like.
    override: ({ jsonSchema }: { jsonSchema: { anyOf?: object[] } }) => {
      const [draft] = jsonSchema.anyOf ?? []
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, draft)
    },
  })
// For callers the input is a draft. Other values pass too: each message is checked alone.
export const LenientDraft = lenientDraft as unknown as z.ZodType<
  z.output<typeof lenientDraft>,
  z.input<typeof MessageDraft>
>

/** Why one message of a batch was refused. */
export const BatchError = ErrorBody.shape.error
  .extend({
    retryAfterSeconds: z
      .int()
      .optional()
      .meta({ description: 'When to try again, where that helps.', examples: [20] }),
  })
  .meta({ id: 'BatchError', description: 'Why one message of a batch was refused.' })
