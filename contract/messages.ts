import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { UserSummary } from './users.ts'

const { messages: page } = limits.page

/** A file or medium attached to a message; Parley stores the reference, not the bytes. */
export const Attachment = z
  .object({
    type: field.text({ min: 1, max: limits.attachmentTypeLength }).meta({
      description: '`image`, `video`, `audio`, `file`, or another word of your own.',
      examples: ['image'],
    }),
    url: field
      .url()
      .meta({ description: 'Where it can be fetched.', examples: ['https://example.com/cat.png'] }),
    name: field
      .name()
      .optional()
      .meta({ description: 'File name or caption.', examples: ['cat.png'] }),
  })
  .meta({ id: 'Attachment', description: 'A file or medium attached to a message.' })

/** What a URL in the text leads to; filled in by background processing (SPEC "Link preview"). */
export const LinkPreview = z
  .object({
    url: z
      .string()
      .meta({ description: 'The URL as in the text.', examples: ['https://example.com/post'] }),
    title: z
      .string()
      .nullable()
      .meta({ description: 'Title of the page.', examples: ['A post'] }),
    description: z
      .string()
      .nullable()
      .meta({ description: 'Summary of the page.', examples: ['About posts'] }),
    image: z
      .string()
      .nullable()
      .meta({ description: 'Preview image URL.', examples: ['https://example.com/post.png'] }),
    siteName: z
      .string()
      .nullable()
      .meta({ description: 'Name of the site.', examples: ['Example'] }),
    type: z
      .enum(['website', 'video', 'article'])
      .meta({ description: 'Kind of page.', examples: ['article'] }),
    videoId: z
      .string()
      .optional()
      .meta({ description: 'Id at the video site.', examples: ['dQw4w9WgXcQ'] }),
    embedUrl: z
      .string()
      .optional()
      .meta({
        description: 'Embeddable video URL.',
        examples: ['https://www.youtube.com/embed/dQw4w9WgXcQ'],
      }),
    authorName: z
      .string()
      .optional()
      .meta({ description: 'Channel of a video.', examples: ['Example Channel'] }),
  })
  .meta({ id: 'LinkPreview', description: 'What a URL in the text leads to.' })
export type LinkPreview = z.infer<typeof LinkPreview>

/** One emoji on a message and who put it there (SPEC "Message": reactions). */
export const Reaction = z
  .object({
    type: z.string().meta({ description: 'The emoji.', examples: ['👍'] }),
    count: z.int().meta({ description: 'How many users reacted with it.', examples: [2] }),
    own: z.boolean().meta({
      description: 'Whether the caller is one of them; false in events.',
      examples: [true],
    }),
    users: z.array(UserSummary).meta({ description: 'The first ten of them.' }),
  })
  .meta({ id: 'Reaction', description: 'One emoji on a message and who put it there.' })
export type Reaction = z.infer<typeof Reaction>

/** A message, in answers and in events alike (SPEC "Message"). */
export const Message = z
  .object({
    id: field.messageId(),
    channelId: field.channelId(),
    userId: field.userId().meta({ description: 'The author.' }),
    text: z.string().meta({
      description: 'May contain @mentions; empty once deleted.',
      examples: ['Hello @ben'],
    }),
    seq: z.int().meta({
      description: 'Place of the message in its channel: 1, 2, 3 … without a gap.',
      examples: [12],
    }),
    rev: z.int().meta({
      description: "The channel's revision at the message's last change.",
      examples: [31],
    }),
    user: UserSummary.meta({ description: 'The author.' }),
    reactions: z.array(Reaction).meta({ description: 'Oldest kind first.' }),
    mentions: z.array(z.string()).meta({
      description: 'Names mentioned in the text, without @, in order.',
      examples: [['ben']],
    }),
    attachments: z.array(Attachment).meta({ description: 'As sent.' }),
    linkPreviews: z
      .array(LinkPreview)
      .optional()
      .meta({ description: 'Present after background processing.' }),
    parentId: field
      .messageId()
      .nullable()
      .meta({ description: 'Root message of the thread this is a reply in.', examples: [null] }),
    replyCount: z
      .int()
      .meta({ description: 'Live replies in the thread of this message.', examples: [0] }),
    pinned: z.boolean().meta({ description: 'Whether the message is pinned.', examples: [false] }),
    clientId: z
      .string()
      .nullable()
      .meta({ description: "The sender's own key for this message.", examples: ['outbox-17'] }),
    createdAt: field
      .timestamp()
      .meta({ description: 'When it was sent.', examples: ['2026-11-21T09:30:00.000Z'] }),
    updatedAt: field.timestamp().meta({
      description: 'When its content last changed.',
      examples: ['2026-11-21T09:30:00.000Z'],
    }),
    editedAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'When its author last edited the text.', examples: [null] }),
    deletedAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'Set on the tombstone of a deleted message.', examples: [null] }),
  })
  .meta({ id: 'Message', description: 'A message, in answers and in events alike.' })
export type Message = z.infer<typeof Message>

/** One message of one channel. */
export const MessageRef = z.object({ channelId: field.channelId(), messageId: field.messageId() })

const cursor = (description: string) => field.messageId().optional().meta({ description })
const content = {
  text: field.text({ max: limits.textLength }).meta({
    description:
      'At most 10,000 characters; may be empty when there are attachments. `@name` mentions somebody.',
    examples: ['Hello @ben'],
  }),
  attachments: z
    .array(Attachment)
    .max(limits.attachments)
    .default([])
    .meta({ description: 'At most 30.' }),
}
const hasContent = (message: { text: string; attachments?: unknown[] }) =>
  message.text !== '' || (message.attachments ?? []).length > 0
const emptyContent = { error: 'expected at least 1 character, or an attachment', path: ['text'] }

/** Messages of a channel (SPEC "Messages", DESIGN §4). */
export const messages = {
  /**
   * A page of messages, ascending by seq. Without a cursor the newest; `before` and `after` continue from a message;
   * `since_seq` gives everything after that seq, tombstones of deleted messages included.
   */
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages',
    auth: 'user',
    summary: 'List messages',
    description:
      'A page of messages in ascending order of `seq`: the newest, or with a cursor those before or after it. At most one of `before`, `after` and `since_seq`.',
    input: z
      .object({
        channelId: field.channelId(),
        limit: field.pageSize(page),
        before: cursor('Answer with the messages just older than this one.'),
        after: cursor('Answer with the messages just newer than this one.'),
        since_seq: z
          .int()
          .min(0)
          .max(limits.largestInteger)
          .optional()
          .meta({
            description:
              'Synchronise: the next messages with a greater seq, tombstones of deleted ones included; 0 starts at the first.',
            examples: [0],
          }),
      })
      .refine(
        (query) =>
          [query.before, query.after, query.since_seq].filter((given) => given !== undefined)
            .length <= 1,
        {
          error: 'expected at most one of before, after and since_seq',
          path: ['before'],
        },
      ),
    output: z.object({
      messages: z.array(Message).meta({ description: 'Ascending by seq.' }),
      maxSeq: z.int().meta({
        description: 'Highest seq of the channel, 0 when nothing was ever sent.',
        examples: [12],
      }),
      hasMore: z.boolean().meta({
        description: 'Whether there is more in the direction asked for.',
        examples: [false],
      }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** One message. A deleted one is NOT_FOUND. */
  get: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'user',
    summary: 'Get a message',
    description: 'One message; a deleted one is not found.',
    input: MessageRef,
    output: Message,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** The replies in a message's thread, ascending by seq; cursors as in `list`. */
  replies: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}/replies',
    auth: 'user',
    summary: 'List the replies to a message',
    description:
      'A page of the thread below a message, in ascending order of `seq`: the newest, or with a cursor those before or after it.',
    input: MessageRef.extend({
      limit: field.pageSize(page),
      before: cursor('Answer with the replies just older than this one.'),
      after: cursor('Answer with the replies just newer than this one.'),
    }).refine((query) => query.before === undefined || query.after === undefined, {
      error: 'expected at most one of before and after',
      path: ['before'],
    }),
    output: z.object({
      messages: z.array(Message).meta({ description: 'Ascending by seq.' }),
      hasMore: z.boolean().meta({
        description: 'Whether there is more in the direction asked for.',
        examples: [false],
      }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Sends a message. In a public channel the first message makes its author a member. */
  send: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages',
    auth: 'user',
    limit: 'messages',
    status: 201,
    summary: 'Send a message',
    description:
      'Appends a message to the channel. With a `clientId` a repeat after a lost answer gives the original message. A reply to a reply joins the thread of its root. In public and livestream channels the first message makes its author a member.',
    input: z
      .object({
        channelId: field.channelId(),
        ...content,
        parentId: field
          .messageId()
          .optional()
          .meta({ description: 'The message this replies to.' }),
        clientId: field.clientId().optional(),
      })
      .refine(hasContent, emptyContent),
    output: Message,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Changes the text; mentions and link previews are worked out anew. Author only. */
  edit: operation({
    method: 'PATCH',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'user',
    summary: 'Edit a message',
    description:
      'Replaces the text of a message of your own, at any time; mentions and link previews are worked out anew.',
    input: MessageRef.extend({ text: content.text }),
    output: Message,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Deletes a message: its author within 15 minutes, a backend at any age. */
  delete: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'userOrKey',
    summary: 'Delete a message',
    description:
      'Deletes a message of your own within 15 minutes of sending it; with an API key any message at any age. Its seq stays taken.',
    input: MessageRef,
    output: field.Success.extend({
      messageId: field.messageId(),
      deletedAt: field
        .timestamp()
        .meta({ description: 'When it was deleted.', examples: ['2026-11-21T09:31:00.000Z'] }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
