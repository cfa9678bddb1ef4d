import { z } from 'zod'
import * as field from './fields.ts'
import { Message, MessageRef } from './messages.ts'
import { operation } from './operation.ts'

/** A pinned message: a message and who pinned it when (SPEC "Message": pinnedBy, pinnedAt). */
export const PinnedMessage = Message.extend({
  pinnedBy: field.userId().meta({ description: 'Who pinned it.' }),
  pinnedAt: field
    .timestamp()
    .meta({ description: 'When it was pinned.', examples: ['2026-11-21T09:32:00.000Z'] }),
}).meta({ id: 'PinnedMessage', description: 'A pinned message.' })

/** Pinned messages of a channel (SPEC "Messages", DESIGN §4). */
export const pins = {
  /** Pins a message; pinning it twice is the same as once. */
  pin: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/pin',
    auth: 'user',
    summary: 'Pin a message',
    description:
      'Any member may pin; pinning again changes nothing. A channel holds at most 100 pins.',
    input: MessageRef,
    output: field.Success,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Unpins a message; unpinning what is not pinned changes nothing. */
  unpin: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}/pin',
    auth: 'user',
    summary: 'Unpin a message',
    description: 'Any member may unpin; unpinning what is not pinned changes nothing.',
    input: MessageRef,
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** The pinned messages of a channel, the newest pin first. */
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/pins',
    auth: 'user',
    summary: 'List pinned messages',
    description: 'The pinned messages of a channel, the newest pin first.',
    input: z.object({ channelId: field.channelId() }),
    output: z.object({
      messages: z.array(PinnedMessage).meta({ description: 'The newest pin first.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
