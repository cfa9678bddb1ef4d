import { z } from 'zod'
import { ChannelType } from './channels.ts'
import { customData, userCustom } from './custom.ts'
import * as field from './fields.ts'
import { ImportReport } from './import-report.ts'
import { grouped, limits } from './limits.ts'
import { Role } from './members.ts'
import { content, MessageType } from './message-drafts.ts'
import { operation } from './operation.ts'
import { Emoji } from './reactions.ts'
import { profileFields } from './users.ts'

/**
 * One line of an import, `parley.jsonl`: a user, a channel, a member, a message, a reaction, a pin
 * or a read position, by `record`. Channels and messages have the ids of the system that they come
 * from. What a record refers to is in an earlier line, or was imported before.
 */

const ownId = (what: string, example: string) =>
  field.text({ min: 1, max: limits.imports.idLength }).meta({
    description: `Id of the ${what} in the system that it comes from.`,
    examples: [example],
  })
const channelId = () => ownId('channel', 'kitchen')
const messageId = () => ownId('message', 'm-17')

const EARLIEST = '1970-01-01T00:00:00Z'
/** A time that is not in the future, which the server checks by the database's clock. */
const past = (description: string) =>
  field
    .timestamp()
    .refine((value) => value >= EARLIEST, 'expected a time since 1970')
    .meta({ description, examples: ['2024-05-01T09:30:00.000Z'] })

const UserRecord = z
  .strictObject({
    record: z.literal('user').meta({ description: 'A user.', examples: ['user'] }),
    id: field.ownUserId(),
    ...profileFields,
    custom: userCustom(),
    createdAt: past('When the user was created; default: now.').optional(),
  })
  .meta({ id: 'ImportedUser', description: 'A user. One who exists is not changed.' })

const ChannelRecord = z
  .strictObject({
    record: z.literal('channel').meta({ description: 'A channel.', examples: ['channel'] }),
    id: channelId(),
    type: ChannelType.exclude(['team']).meta({
      description: 'The type of the channel. `messaging` is a direct message of `memberIds`.',
      examples: ['group'],
    }),
    name: field
      .name()
      .optional()
      .meta({ description: 'Required, except for direct messages.', examples: ['Kitchen talk'] }),
    description: field
      .text({ max: limits.descriptionLength })
      .optional()
      .meta({ description: 'What the channel is about.', examples: ['What is cooking?'] }),
    image: field
      .url()
      .optional()
      .meta({ description: 'Image URL.', examples: ['https://example.com/kitchen.png'] }),
    createdBy: field
      .userId()
      .optional()
      .meta({ description: 'The user who created it; default: the backend.' }),
    memberIds: z
      .array(field.userId())
      .length(2, 'expected exactly 2 entries')
      .refine(([one, other]) => one !== other, 'expected 2 different users')
      .optional()
      .meta({ description: 'The two users of a direct message; not allowed for other types.' }),
    frozen: z
      .boolean()
      .optional()
      .meta({ description: 'Whether only the backend may send.', examples: [false] }),
    custom: customData({ title: 'CustomChannel' }).optional(),
    createdAt: past('When it was created.'),
  })
  .refine(({ type, memberIds }) => (type === 'messaging') === (memberIds !== undefined), {
    error: 'expected for a channel of type messaging, and for no other',
    path: ['memberIds'],
  })
  .refine(({ type, name }) => type === 'messaging' || name !== undefined, {
    error: 'expected a name',
    path: ['name'],
  })
  .meta({ id: 'ImportedChannel', description: 'A channel, which nobody sees until it is whole.' })

const MemberRecord = z
  .strictObject({
    record: z
      .literal('member')
      .meta({ description: 'A member of a channel.', examples: ['member'] }),
    channelId: channelId(),
    userId: field.userId(),
    role: Role.default('member'),
    custom: customData({ title: 'CustomMember' }).optional(),
    joinedAt: past('When the user joined.'),
  })
  .meta({ id: 'ImportedMember', description: 'A member of a channel.' })

const MessageRecord = z
  .strictObject({
    record: z.literal('message').meta({ description: 'A message.', examples: ['message'] }),
    id: messageId(),
    channelId: channelId(),
    userId: field
      .userId()
      .optional()
      .meta({ description: 'The author; absent for a system message.', examples: ['ana'] }),
    type: MessageType.default('regular'),
    text: field
      .text({ max: limits.textLength })
      .default('')
      .meta({
        description: `At most ${grouped(limits.textLength)} characters.`,
        examples: ['Hello @ben'],
      }),
    attachments: content.attachments,
    parentId: messageId()
      .optional()
      .meta({ description: 'The message that this one replies to.', examples: ['m-16'] }),
    quotedMessageId: messageId()
      .optional()
      .meta({
        description: 'The message that this one quotes; ignored if it is not there.',
        examples: ['m-15'],
      }),
    silent: z
      .boolean()
      .optional()
      .meta({ description: 'Whether it counts in no unread count.', examples: [false] }),
    custom: customData({ title: 'CustomMessage' }).optional(),
    createdAt: past('When it was sent.'),
    editedAt: past('When its author last edited the text.').optional(),
  })
  .refine(({ text, attachments }) => text !== '' || attachments.length > 0, {
    error: 'expected at least 1 character, or an attachment',
    path: ['text'],
  })
  .refine(({ type, userId }) => (type === 'regular') === (userId !== undefined), {
    error: 'expected for a regular message, and not for a system message',
    path: ['userId'],
  })
  .meta({ id: 'ImportedMessage', description: 'A message.' })

const ReactionRecord = z
  .strictObject({
    record: z
      .literal('reaction')
      .meta({ description: 'A reaction to a message.', examples: ['reaction'] }),
    messageId: messageId(),
    userId: field.userId(),
    emoji: Emoji,
    createdAt: past('When the user reacted.'),
  })
  .meta({ id: 'ImportedReaction', description: 'A reaction to a message.' })

const PinRecord = z
  .strictObject({
    record: z.literal('pin').meta({ description: 'A pinned message.', examples: ['pin'] }),
    messageId: messageId(),
    userId: field.userId().meta({ description: 'The user who pinned it.' }),
    createdAt: past('When it was pinned.'),
  })
  .meta({ id: 'ImportedPin', description: 'A pinned message.' })

const ReadRecord = z
  .strictObject({
    record: z.literal('read').meta({ description: 'A read position.', examples: ['read'] }),
    channelId: channelId(),
    userId: field.userId(),
    messageId: messageId().meta({ description: 'The last message that the member has read.' }),
    createdAt: past('When they read it.'),
  })
  .meta({
    id: 'ImportedRead',
    description: 'The read position of a member. A member without one has no unread messages.',
  })

/** One line of an import. */
export const ImportRecord = z
  .discriminatedUnion('record', [
    UserRecord,
    ChannelRecord,
    MemberRecord,
    MessageRecord,
    ReactionRecord,
    PinRecord,
    ReadRecord,
  ])
  .meta({
    id: 'ImportRecord',
    description: 'One line of an import: what it is, by `record`.',
    examples: [{ record: 'user', id: 'ana', name: 'Ana' }],
  })
export type ImportRecord = z.output<typeof ImportRecord>
/** One line of an import, as it is written: with optional fields. */
export type ImportRecordInput = z.input<typeof ImportRecord>
export type ImportKind = ImportRecord['record']

/** History from another system. */
export const imports = {
  run: operation({
    method: 'POST',
    path: '/import',
    auth: 'key',
    streams: 'application/x-ndjson',
    summary: 'Import history',
    description:
      'Reads records from the body, NDJSON with one record a line, while it arrives, and answers ' +
      'at its end. An import that is repeated changes nothing, and one that was interrupted goes ' +
      'on where it was. It causes no events, pushes, previews or unread messages. An app has one ' +
      `import at a time: another is refused with RATE_LIMITED. A line has at most ` +
      `${limits.imports.lineBytes / 1024} KB; one that cannot be imported does not stop the ` +
      `others. The import ends if no line comes for ${limits.imports.stalledSeconds} seconds. ` +
      'The format is in docs/import.md.',
    input: z.object({}),
    output: ImportReport,
    errors: ['PAYLOAD_TOO_LARGE'],
    idempotent: true,
  }),
}
