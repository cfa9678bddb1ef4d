import { z } from 'zod'
import { Attachment } from './attachments.ts'
import { customAnswer, customChange } from './custom.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { LinkPreview } from './link-previews.ts'
import {
  BatchError,
  content,
  draftFields,
  emptyContent,
  hasContent,
  LenientDraft,
  MessageType,
} from './message-drafts.ts'
import { operation } from './operation.ts'
import { QuotedMessage } from './quotes.ts'
import { UserSummary } from './users.ts'

/** One emoji on a message and the users who reacted with it. */
export const Reaction = z
  .object({
    type: z.string().meta({ description: 'The emoji.', examples: ['👍'] }),
    count: z.int().meta({ description: 'How many users reacted with it.', examples: [2] }),
    own: z.boolean().meta({
      description: 'Whether the caller is one of them; always false in events.',
      examples: [true],
    }),
    users: z.array(UserSummary).meta({
      description:
        `The first ${limits.reactionUsers} of them, or fewer: all reactions to a message show ` +
        `users of at most ${limits.reactionUserBytes / 1024} KB, the first of each emoji first.`,
    }),
  })
  .meta({
    id: 'Reaction',
    description: 'One emoji on a message and the users who reacted with it.',
  })
export type Reaction = z.infer<typeof Reaction>

/** A message, the same in responses and in events. */
export const Message = z
  .object({
    id: field.messageId(),
    channelId: field.channelId(),
    type: MessageType,
    userId: field.userId().meta({
      description: `The author; \`${field.systemUserId}\` of system messages.`,
    }),
    text: z.string().meta({
      description: 'May contain @mentions; empty if the message was deleted.',
      examples: ['Hello @ben'],
    }),
    seq: z.int().meta({
      description: 'Number of the message in its channel: 1, 2, 3 … without a gap.',
      examples: [12],
    }),
    rev: z.int().meta({
      description: "The channel's revision at the message's last change.",
      examples: [31],
    }),
    user: UserSummary.meta({ description: 'The author.' }),
    reactions: z.array(Reaction).meta({ description: 'The emoji used first comes first.' }),
    mentions: z.array(z.string()).meta({
      description:
        `The first ${limits.mentions} names mentioned in the text, without @, in order, as ` +
        'written: there may be no such user.',
      examples: [['ben']],
    }),
    attachments: z.array(Attachment).meta({ description: 'As sent.' }),
    linkPreviews: z
      .array(LinkPreview)
      .optional()
      .meta({ description: 'Present once a background job has made them.' }),
    parentId: field
      .messageId()
      .nullable()
      .meta({ description: 'For a reply: the root message of its thread.', examples: [null] }),
    quotedMessage: QuotedMessage.optional().meta({
      description:
        'Present if it quotes a message: that one as it is now, and in an event as it was then. ' +
        'What happens to it later is in its own events: clients change their quotes by them.',
    }),
    replyCount: z.int().meta({
      description: 'How many replies the thread of this message has, without deleted ones.',
      examples: [0],
    }),
    pinned: z.boolean().meta({ description: 'Whether the message is pinned.', examples: [false] }),
    silent: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if it counts in no unread count.', examples: [true] }),
    streaming: z
      .boolean()
      .optional()
      .meta({
        description:
          'Present if it was sent in parts: true while its text grows, false once that has ended.',
        examples: [false],
      }),
    interrupted: z
      .literal(true)
      .optional()
      .meta({
        description:
          'Present if its author stopped sending parts without finishing it, and has not edited ' +
          'the text since.',
        examples: [true],
      }),
    custom: customAnswer({
      title: 'CustomMessage',
      description: 'Absent if there is none.',
    }).optional(),
    clientId: z
      .string()
      .nullable()
      .meta({ description: "The sender's own key for this message.", examples: ['outbox-17'] }),
    createdAt: field.time('When it was sent.'),
    updatedAt: field.time('When its content last changed.'),
    editedAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'When its author last edited the text.', examples: [null] }),
    deletedAt: field
      .timestamp()
      .nullable()
      .meta({
        description: 'When it was deleted: set on the tombstone of a deleted message.',
        examples: [null],
      }),
  })
  .meta({ id: 'Message', description: 'A message, the same in responses and in events.' })
export type Message = z.infer<typeof Message>

/** One message of one channel. */
export const MessageRef = z.object({ channelId: field.channelId(), messageId: field.messageId() })

const cursor = (description: string) => field.messageId().optional().meta({ description })
const page = {
  messages: z.array(Message).meta({ description: 'In ascending order of `seq`.' }),
  hasMore: z.boolean().meta({
    description: 'Whether there is more in the requested direction. A page may end early.',
    examples: [false],
  }),
}
/** Messages of a channel, and threads of replies. */
export const messages = {
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages',
    auth: 'userOrKey',
    summary: 'List messages',
    description:
      'Returns a page of messages in ascending order of `seq`: the newest, or with a cursor ' +
      'those before or after it. Accepts at most one of `before`, `after` and `since_seq`.',
    input: z
      .object({
        channelId: field.channelId(),
        limit: field.pageSize(limits.page.messages),
        before: cursor(
          'Return the messages just older than this one. Not with `after` or `since_seq`.',
        ),
        after: cursor(
          'Return the messages just newer than this one. Not with `before` or `since_seq`.',
        ),
        since_seq: z
          .int()
          .min(0)
          .max(limits.largestInteger)
          .optional()
          .meta({
            description:
              'Return the next messages with a greater `seq`, including tombstones of deleted ' +
              'ones. 0 starts at the first message. Not with `before` or `after`.',
            examples: [0],
          }),
        replies: z
          .boolean()
          .optional()
          .meta({
            description:
              'With `false`, replies are left out; threads have them. Not with `since_seq`.',
            examples: [true],
          }),
      })
      .refine(
        ({ before, after, since_seq }) =>
          [before, after, since_seq].filter((given) => given !== undefined).length <= 1,
        { error: 'expected at most one of before, after and since_seq', path: ['before'] },
      )
      .refine(({ since_seq, replies }) => since_seq === undefined || replies !== false, {
        error: 'expected no since_seq with replies=false',
        path: ['replies'],
      }),
    output: z.object({
      messages: page.messages,
      maxSeq: z.int().meta({
        description: 'Highest `seq` of the channel; 0 if nothing was ever sent.',
        examples: [12],
      }),
      hasMore: page.hasMore,
    }),
  }),
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'user',
    summary: 'Get a message',
    description: 'Returns one message. A deleted message is NOT_FOUND.',
    input: MessageRef,
    output: Message,
  }),
  replies: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}/replies',
    auth: 'user',
    summary: 'List the replies to a message',
    description:
      'Returns a page of the thread below a message, in ascending order of `seq`: the newest ' +
      'replies, or with a cursor those before or after it.',
    input: MessageRef.extend({
      limit: field.pageSize(limits.page.messages),
      before: cursor('Return the replies just older than this one. Not with `after`.'),
      after: cursor('Return the replies just newer than this one. Not with `before`.'),
    }).refine((query) => query.before === undefined || query.after === undefined, {
      error: 'expected at most one of before and after',
      path: ['before'],
    }),
    output: z.object(page),
  }),
  send: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages',
    auth: 'userOrKey',
    limit: 'messages',
    status: 201,
    summary: 'Send a message',
    description:
      'Appends a message to the channel. With a `clientId`, a retry after a lost response ' +
      'returns the original message. A reply to a reply joins the thread of its root. In public ' +
      'and livestream channels, the first message makes its author a member. While a channel is ' +
      'frozen, only the backend may send. What it sends for itself is a system message: it ' +
      'counts in no unread count, and is pushed only with `silent: false`.',
    input: z
      .object({
        channelId: field.channelId(),
        ...draftFields,
        streaming: z
          .boolean()
          .optional()
          .meta({
            description:
              'Whether its text will grow: the author appends parts, and then finishes it. It ' +
              'counts as unread now; mentions, link previews and the push follow at the end. Not ' +
              "for system messages, nor for a user's own token while a before-send hook is set.",
            examples: [false],
          }),
        clientId: field.clientId().optional(),
      })
      .refine(hasContent, emptyContent),
    output: Message,
  }),
  sendBatch: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/batch',
    auth: 'userOrKey',
    limit: 'messages',
    bodyLimit: limits.messageBatch.bodyBytes,
    idempotent: true,
    summary: 'Send several messages',
    description:
      `Appends up to ${limits.messageBatch.messages} messages to the channel, in the order in ` +
      'which they are given, as if each were sent alone: for a client that was offline. One ' +
      'that is refused does not refuse the others, but after one that fails with UNAVAILABLE ' +
      'none is stored, so that a repeat keeps the order. Each has a `clientId`, so that the ' +
      'call may be repeated after a lost response. Each counts against the limit of messages; ' +
      'what repeats have counted is given back afterwards. New ones for which there is no ' +
      'room are answered with RATE_LIMITED.',
    input: z.object({
      channelId: field.channelId(),
      messages: z
        .array(LenientDraft)
        .min(1)
        .max(limits.messageBatch.messages)
        .meta({
          description: `At most ${limits.messageBatch.messages}, oldest first.`,
          examples: [[{ text: 'Hello @ben', clientId: 'outbox-17' }]],
        }),
    }),
    output: z.object({
      results: z
        .array(
          z
            .object({
              message: Message.optional(),
              error: BatchError.optional(),
            })
            .meta({ description: 'The stored message, or why it was refused.' }),
        )
        .meta({ description: 'One for each message, in the same order.' }),
    }),
  }),
  edit: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'user',
    idempotent: true,
    summary: 'Edit a message',
    description:
      'Replaces the text of your own message, however old it is, or changes its metadata, or ' +
      'both. Mentions and link previews are derived from the new text. A new text ends the ' +
      'stream of a message that grows, and completes one that was interrupted.',
    errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
    input: MessageRef.extend({
      text: content.text.optional(),
      custom: customChange({ title: 'CustomMessage' }),
      ifEditedAt: field
        .timestamp()
        .nullable()
        .optional()
        .meta({
          description:
            'The `editedAt` of the message that was edited. If the message has another one and ' +
            'another text meanwhile, the edit is refused: CONFLICT.',
          examples: [null],
        }),
    }).refine(({ text, custom }) => text !== undefined || custom !== undefined, {
      error: 'expected a text, or custom',
      path: ['text'],
    }),
    output: Message,
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'userOrKey',
    summary: 'Delete a message',
    description:
      `Deletes your own message within ${limits.deleteWindowSeconds / 60} minutes of sending it, ` +
      'or, with an API key, any message at any time. Its `seq` is not used again.',
    input: MessageRef,
    output: field.Success.extend({
      messageId: field.messageId(),
      deletedAt: field.time('When it was deleted.', '2026-11-21T09:31:00.000Z'),
    }),
  }),
}
