import { z } from 'zod'
import { Channel } from './channels.ts'
import * as field from './fields.ts'
import { grouped, limits, megabytes } from './limits.ts'
import { Member } from './members.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'
import { PinnedMessage } from './pins.ts'
import { User } from './users.ts'

const page = {
  messages: z.array(Message).meta({ description: 'In ascending order of `seq`.' }),
  hasMore: z
    .boolean()
    .meta({ description: 'Whether there are older messages.', examples: [false] }),
}

const SyncThread = z
  .object({
    parent: Message.optional().meta({ description: 'Absent if it was deleted.' }),
    ...page,
  })
  .meta({ id: 'SyncThread', description: 'The newest replies to a message, and the message.' })

const SyncMember = Member.extend({
  lastReadSeq: z
    .int()
    .meta({ description: '`seq` of the read position; 0 if nothing was read.', examples: [12] }),
  ...User.pick({ online: true, presenceVersion: true, lastActiveAt: true }).shape,
}).meta({
  id: 'SyncMember',
  description: 'A member, how far they have read, and whether they are online.',
})

/** The changes in a channel since a `rev`; `removed` alone if the caller may not read it. */
export const ChannelChanges = z
  .object({
    removed: z
      .literal(true)
      .optional()
      .meta({
        description:
          'The channel was deleted, or the caller is no member of it. Other fields are set only ' +
          'if they may read it all the same, such as a public one.',
        examples: [true],
      }),
    resync: z
      .literal(true)
      .optional()
      .meta({
        description: 'Too many changes: load the channel from scratch; `messages` is empty.',
        examples: [true],
      }),
    more: z
      .literal(true)
      .optional()
      .meta({
        description:
          'There are more changes: call again for this channel, with `rev`. Without `channel`, ' +
          'the response had no room for it.',
        examples: [true],
      }),
    rev: z
      .int()
      .optional()
      .meta({
        description: 'This response has the changes up to here: pass it in the next call.',
        examples: [31],
      }),
    channel: Channel.optional().meta({
      description: 'The channel now, with membership and read state of the caller.',
    }),
    messages: z
      .array(Message)
      .optional()
      .meta({
        description:
          'Messages changed since then, including tombstones of deleted ones, in ascending order ' +
          'of `rev`.',
      }),
    page: z
      .object(page)
      .optional()
      .meta({ description: 'With `pages`: the newest messages, without deleted ones.' }),
    roots: z
      .object(page)
      .optional()
      .meta({ description: 'With `roots`: the same without replies.' }),
    threads: z
      .record(z.string(), SyncThread)
      .optional()
      .meta({
        description: 'With `threads`: those of this channel, by the id of the message above.',
        examples: [{}],
      }),
    pins: z
      .array(PinnedMessage)
      .optional()
      .meta({ description: 'With `pins`: all pinned messages, the latest pin first.' }),
    members: z
      .array(SyncMember)
      .optional()
      .meta({ description: 'With `members`: all members, in the order they joined.' }),
  })
  .meta({ id: 'ChannelChanges', description: 'What changed in a channel since a `rev`.' })
export type ChannelChanges = z.infer<typeof ChannelChanges>

const rooms = (description: string) =>
  z
    .array(field.channelId())
    .max(limits.sync.rooms)
    .default([])
    .meta({ description: `${description} At most ${limits.sync.rooms} channels.`, examples: [[]] })

/** One id that no user can have must not refuse what is asked for beside it. */
const userIds = z
  .array(z.string().meta({ examples: ['ana'] }))
  .max(limits.sync.users)
  .transform((ids) => ids.filter(field.isUserId))
  .optional()
  .meta({
    description:
      `Users to return, to show who is online: at most ${limits.sync.users} ids. Unknown ids are ` +
      'left out.',
    examples: [['ana', 'ben']],
  })

/** Counts the channels before any of them is parsed. */
function refuseTooMany(revs: Record<string, number>, ctx: z.RefinementCtx) {
  const count = typeof revs === 'object' ? Object.keys(revs ?? {}).length : 0 // not parsed yet
  if (count <= limits.sync.channels) return revs
  ctx.addIssue(`expected at most ${limits.sync.channels} channels`)
  return z.NEVER
}

/** Opening an application, and catching up after being offline. */
export const sync = {
  pull: operation({
    method: 'POST',
    path: '/api/sync',
    auth: 'user',
    idempotent: true,
    summary: 'Catch up',
    description:
      'Takes the channels you know, each with the `rev` you know of it. Returns the messages ' +
      'changed since then and each channel as it is now. A response has at most ' +
      `${grouped(limits.sync.messages)} messages and ${megabytes(limits.answerBytes)}. ` +
      'With `more`, call again for the channels that have more. A client that shows channels ' +
      'gets what it shows of them in the same call, with `pages`, `roots`, `threads`, `pins`, ' +
      '`members`, `userIds` and `total`. Where there is no room for one of these it is left out, ' +
      'and older servers know only some of them: get it by a call of its own.',
    input: z.object({
      channels: z.preprocess(
        refuseTooMany,
        z.record(field.channelId(), z.int().min(0).max(limits.largestInteger)).meta({
          description:
            'The `rev` you know, by channel id; 0 if you know nothing of the channel. At most ' +
            `${limits.sync.channels} channels.`,
          examples: [{ [field.examples.channelId]: 31 }],
        }),
      ),
      pages: rooms(
        `Those of the channels whose newest ${limits.sync.pageMessages} messages to return.`,
      ),
      roots: rooms('The same of those whose messages are shown without replies.'),
      threads: z
        .array(field.messageId())
        .max(limits.sync.threads)
        .default([])
        .meta({
          description:
            `Messages of these channels: the newest ${limits.sync.pageMessages} replies to each ` +
            `are returned. At most ${limits.sync.threads} messages.`,
          examples: [[]],
        }),
      pins: rooms('Those of the channels whose pinned messages to return.'),
      members: rooms(
        'Those of the channels whose members and read positions to return, in all up to ' +
          `${grouped(limits.sync.members)} members.`,
      ),
      userIds,
      total: field.wantsTotal(),
    }),
    output: z.object({
      channels: z.record(z.string(), ChannelChanges).meta({
        description: 'By channel id: an entry for each requested channel.',
        examples: [{ [field.examples.channelId]: { removed: true } }],
      }),
      more: z
        .boolean()
        .meta({ description: 'Whether any channel has more changes.', examples: [false] }),
      settingsVersion: field.settingsVersion(),
      users: z
        .array(User)
        .optional()
        .meta({ description: 'With `userIds`: those who exist, by name.' }),
      totalUnread: field.totalUnread(),
      totalUnreadVersion: field.totalVersion().optional(),
    }),
  }),
}
