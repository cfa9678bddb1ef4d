import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { MessageRef, Reaction } from './messages.ts'
import { operation } from './operation.ts'

/** An emoji or a short word: UTF-8 in NFC, without spaces and control characters. */
export const Emoji = field
  .text({ min: 1, max: limits.emojiBytes })
  .normalize('NFC')
  .refine(...field.atMostBytes(limits.emojiBytes))
  .refine((value) => !/[\s\p{Cc}]/u.test(value), 'expected no spaces and control characters')
  .refine((value) => value !== '.' && value !== '..', 'expected something other than "." and ".."')
  .meta({
    description:
      `The emoji, or a short word: at most ${limits.emojiBytes} bytes of UTF-8 in NFC, without ` +
      'spaces and control characters; not "." or "..".',
    examples: ['👍'],
    pattern: '^[^\\s\\u0000-\\u001f\\u007f-\\u009f]+$',
  })

const Ref = MessageRef.extend({ emoji: Emoji })
const Result = field.Success.extend({
  reactions: z
    .array(Reaction)
    .meta({ description: 'All reactions to the message after the change.' }),
})

/** Reactions to messages. */
export const reactions = {
  add: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions',
    auth: 'user',
    idempotent: true,
    summary: 'Add a reaction',
    description:
      'Adds your reaction to a message. Adding it again changes nothing. A message has at most ' +
      `${limits.reactionKinds} different emoji.`,
    input: Ref,
    output: Result,
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
    auth: 'user',
    idempotent: true,
    summary: 'Remove a reaction',
    description:
      'Removes your reaction from a message. Removing a reaction that does not exist changes ' +
      'nothing.',
    input: Ref,
    output: Result,
  }),
}
