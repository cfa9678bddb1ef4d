import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { MessageRef, Reaction } from './messages.ts'
import { operation } from './operation.ts'

const bytes = (value: string) => new TextEncoder().encode(value).length

/** An emoji or short word: 1–64 bytes of UTF-8 in NFC, without spaces and control characters (DESIGN §4 reactions). */
export const Emoji = field
  .text({ min: 1, max: limits.emojiBytes })
  .normalize('NFC')
  .refine(
    (value) => bytes(value) <= limits.emojiBytes,
    `expected at most ${limits.emojiBytes} bytes`,
  )
  .refine((value) => !/[\s\p{Cc}]/u.test(value), 'expected no spaces and control characters')
  .refine((value) => value !== '.' && value !== '..', 'expected something other than "." and ".."')
  .meta({ description: 'The emoji.', examples: ['👍'] })

const Ref = MessageRef.extend({ emoji: Emoji })
const Answer = field.Success.extend({
  reactions: z
    .array(Reaction)
    .meta({ description: 'All reactions to the message after the change.' }),
})

/** Reactions to messages (SPEC "Messages", DESIGN §4). */
export const reactions = {
  /** Adds the caller's reaction; adding it twice is the same as once. */
  add: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions',
    auth: 'user',
    summary: 'React to a message',
    description:
      'Adds your reaction. Adding it again changes nothing. A message carries at most 50 kinds.',
    input: Ref,
    output: Answer,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Takes the caller's reaction back; taking back what is not there changes nothing. */
  remove: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
    auth: 'user',
    summary: 'Take a reaction back',
    description: 'Removes your reaction. Removing what is not there changes nothing.',
    input: Ref,
    output: Answer,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
