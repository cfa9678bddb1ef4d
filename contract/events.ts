import { z } from 'zod'
import { cause } from './cause.ts'
import { Channel, ChannelProfile } from './channels.ts'
import { customAnswer } from './custom.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { Role } from './members.ts'
import { Message, Reaction } from './messages.ts'
import { Pin } from './pins.ts'
import { UserSummary } from './users.ts'

const channelId = field.channelId()
const userId = field.userId()
const parent = z
  .object({
    id: field.messageId(),
    replyCount: z
      .int()
      .meta({ description: 'How many replies it has now, without deleted ones.', examples: [1] }),
  })
  .optional()
  .meta({
    description: 'For a reply: the root of its thread, whose `rev` becomes that of this event.',
  })
const reaction = z.object({
  channelId,
  messageId: field.messageId(),
  reaction: z
    .object({ type: z.string().meta({ description: 'The emoji.', examples: ['👍'] }), userId })
    .meta({ description: 'The reaction that was added or removed.' }),
  user: UserSummary.meta({ description: 'The user who reacted.' }),
  reactions: z
    .array(Reaction)
    .meta({ description: 'All reactions to the message after the change; `own` is false.' }),
  ...cause,
})
const membership = z.object({
  channelId,
  userId,
  user: UserSummary,
  role: Role,
  memberCount: z
    .int()
    .meta({ description: 'How many members the channel has now.', examples: [3] }),
  custom: customAnswer({ title: 'CustomMember' }),
  ...cause,
})
const typing = z.object({
  channelId,
  userId,
  user: UserSummary.meta({ description: 'The user who is typing.' }),
})
const channelUpdated = z.object({ channelId, channel: ChannelProfile, ...cause })
const channelRef = z.object({ channelId, ...cause })
const presence = z.object({
  userId,
  lastActiveAt: field
    .timestamp()
    .nullable()
    .meta({ description: 'When the user was last active.', examples: [field.examples.time] }),
  // Absent from servers of earlier versions.
  version: field.presenceVersion().optional(),
})

/**
 * Durable events of a channel's topic. Each one takes the next `rev` of the channel and is stored,
 * so that a client that was offline can recover it.
 */
export const channelEvents = {
  'message.new': z
    .object({
      channelId,
      message: Message,
      parent,
      authorLastReadSeq: z
        .int()
        .optional()
        .meta({
          description:
            "`seq` of the author's read position after this message: the message itself if they " +
            'had read everything before it. Absent in system messages.',
          examples: [12],
        }),
      ...cause,
    })
    .meta({ description: 'A message was sent.' }),
  'message.updated': z
    .object({
      channelId,
      message: Message,
      pin: Pin.optional().meta({
        description: 'Who pinned it and when, if this is what has changed.',
      }),
      ...cause,
    })
    .meta({
      description: 'A message was edited, pinned or unpinned, or its link previews are ready.',
    }),
  'message.deleted': z
    .object({
      channelId,
      messageId: field.messageId(),
      seq: z.int().meta({
        description: 'Number of the message in the channel; it is not used again.',
        examples: [12],
      }),
      deletedAt: field.time('When it was deleted.'),
      parent,
      ...cause,
    })
    .meta({ description: 'A message was deleted.' }),
  'reaction.added': reaction.meta({ description: 'A user reacted to a message.' }),
  'reaction.removed': reaction.meta({ description: 'A user removed a reaction.' }),
  'channel.member_joined': membership.meta({ description: 'A user became a member.' }),
  'channel.member_left': membership.omit({ custom: true }).meta({
    description: 'A user is no longer a member. Ends their subscription.',
  }),
  'channel.member_updated': membership.meta({
    description: 'The role or the metadata of a member changed.',
  }),
  'channel.updated': channelUpdated.meta({
    description: 'Name, image, description, metadata or whether it is frozen changed.',
  }),
  'channel.deleted': channelRef.meta({
    description: 'The channel was deleted. Ends every subscription.',
  }),
}

/** Durable events of a user's topic. */
export const userEvents = {
  'channel.added': z
    .object({
      // Without the last message: a stored event must not outlive the text of a message.
      channel: Channel.omit({ lastMessage: true }).meta({
        description: 'The channel as the user sees it.',
      }),
      ...cause,
    })
    .meta({ description: 'The user became a member of a channel.' }),
  'channel.removed': channelRef.meta({
    description: 'The user is no longer a member of a channel.',
  }),
  'workspace.removed': z
    .object({ workspaceId: field.workspaceId(), ...cause })
    .meta({ description: 'The user is no longer a member of a workspace.' }),
  'channel.settings_changed': z
    .object({
      channelId,
      starred: z.boolean().meta({ description: 'Whether the user starred it.', examples: [true] }),
      muted: z.boolean().meta({ description: 'Whether the user muted it.', examples: [false] }),
      ...cause,
    })
    .meta({
      description: "The user starred or muted a channel. Keeps the user's devices in sync.",
    }),
}

const inLargeChannels = `In channels with more than ${limits.largeChannelMembers} members`
const ownReads = `${inLargeChannels}, it is sent to that user only.`

/** Ephemeral events of a channel's topic: sent to current subscribers, never stored. */
export const ephemeralChannelEvents = {
  'typing.start': typing.meta({
    description:
      'A user is typing. `typing.stop` follows at most ' +
      `${limits.typingSeconds} seconds after the last one. ${inLargeChannels}, it is not sent.`,
  }),
  'typing.stop': typing.meta({ description: 'A user stopped typing.' }),
  'read.updated': z
    .object({
      channelId,
      userId,
      lastReadSeq: z.int().meta({
        description: "`seq` of the user's read position; 0 if nothing was read.",
        examples: [12],
      }),
      lastReadMessageId: field
        .messageId()
        .nullable()
        .meta({ description: 'The message at that position; null if nothing was read.' }),
      readAt: field.time('When the position was reached.'),
    })
    .meta({
      description: `A user marked the channel, or messages up to one, as read. ${ownReads}`,
    }),
  'message.delta': z
    .object({
      channelId,
      messageId: field.messageId(),
      at: z.int().meta({
        description: 'Where in the text of the message it begins, in UTF-16 code units.',
        examples: [5],
      }),
      text: z.string().meta({ description: 'The text from there on.', examples: [' world'] }),
    })
    .meta({
      description:
        'The text of a message with `streaming: true` has grown. If you have its text up to ' +
        '`at`, append what you lack of `text`; otherwise wait for the next `message.updated`. ' +
        `${inLargeChannels}, parts are joined for ${limits.streams.deltaSeconds * 1_000} ms.`,
    }),
  read_receipt: z
    .object({
      channelId,
      messageId: field.messageId(),
      userId,
      name: UserSummary.shape.name,
      image: UserSummary.shape.image,
      readAt: field.time('When the message was read.'),
    })
    .meta({ description: `A user marked this message, and those before it, as read. ${ownReads}` }),
}

const coMember = 'The user, or another member of one of their channels,'
const smallChannels = `Channels with more than ${limits.largeChannelMembers} members do not count.`
const copyForMembers =
  "Copy of the event on the channel's topic, for members who do not subscribe to that topic."

/**
 * Ephemeral events of a user's topic. Counts are absolute: the latest one is right, whatever was
 * missed before.
 */
export const ephemeralUserEvents = {
  'channel.unread_changed': z
    .object({
      channelId,
      count: z.int().meta({ description: 'Unread messages in the channel now.', examples: [3] }),
      version: z.int().meta({
        description:
          'Version of the count, like `unreadVersion` of the channel. Ignore a count whose ' +
          'version is lower than the last one you saw.',
        examples: [40],
      }),
    })
    .meta({ description: 'The unread count of a channel changed.' }),
  'channel.total_unread_changed': z
    .object({
      count: z.int().meta({ description: 'Unread messages in all channels now.', examples: [7] }),
      version: z
        .int()
        .optional()
        .meta({
          description:
            'Version of the count, like `totalUnreadVersion` in responses. Ignore a count whose ' +
            'version is lower than the last one you saw. If it is absent, take the count and ' +
            'forget the last version. Forget that also when you connect again: versions of a ' +
            'restored database may be lower.',
          examples: [6_103_040],
        }),
    })
    .meta({ description: 'The unread count of all channels together changed.' }),
  'channel.updated': channelUpdated.meta({ description: copyForMembers }),
  'channel.deleted': channelRef.meta({ description: copyForMembers }),
  'user.updated': z
    .object({
      user: UserSummary,
      version: z
        .int()
        .optional()
        .meta({
          description:
            'Version of the name and image. Ignore those whose version is lower than the last ' +
            'one you saw. Absent from servers of earlier versions.',
          examples: [1_772_021_348_250_000],
        }),
    })
    .meta({ description: `${coMember} has a new name or image. ${smallChannels}` }),
  'presence.online': presence.meta({
    description: `${coMember} came online. ${smallChannels}`,
  }),
  'presence.offline': presence.meta({
    description:
      `${coMember} went offline: no connection for ${limits.presenceGraceSeconds} seconds ` +
      `(configurable). ${smallChannels}`,
  }),
}

export type ChannelEventType = keyof typeof channelEvents
export type UserEventType = keyof typeof userEvents
export type EphemeralChannelEventType = keyof typeof ephemeralChannelEvents
export type EphemeralUserEventType = keyof typeof ephemeralUserEvents

type Payload<Events extends Record<string, z.ZodType>, Type extends keyof Events> = z.infer<
  Events[Type]
>
export type ChannelEvent<T extends ChannelEventType = ChannelEventType> = Payload<
  typeof channelEvents,
  T
>
export type UserEvent<T extends UserEventType = UserEventType> = Payload<typeof userEvents, T>
export type EphemeralChannelEvent<T extends EphemeralChannelEventType = EphemeralChannelEventType> =
  Payload<typeof ephemeralChannelEvents, T>
export type EphemeralUserEvent<T extends EphemeralUserEventType = EphemeralUserEventType> = Payload<
  typeof ephemeralUserEvents,
  T
>

type Envelopes<Events extends Record<string, z.ZodType>> = {
  [Type in keyof Events & string]: { type: Type; payload: z.infer<Events[Type]> }
}[keyof Events & string]
/** The data of every publication: the type of the event, and its payload. */
export type Envelope =
  | Envelopes<typeof channelEvents>
  | Envelopes<typeof userEvents>
  | Envelopes<typeof ephemeralChannelEvents>
  | Envelopes<typeof ephemeralUserEvents>
