import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { Message, MessageRef } from './messages.ts'
import { operation } from './operation.ts'

const pin = {
  pinnedBy: field.userId().meta({ description: 'The user who pinned it.' }),
  pinnedAt: field.time('When it was pinned.', '2026-11-21T09:32:00.000Z'),
}
/** The user who pinned a message, and the time. */
export const Pin = z.object(pin)
/** A pinned message, with the user who pinned it and the time. */
export const PinnedMessage = Message.extend(pin).meta({
  id: 'PinnedMessage',
  description: 'A pinned message.',
})

/** Pinned messages of a channel. */
export const pins = {
  pin: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/pin',
    auth: 'user',
    idempotent: true,
    summary: 'Pin a message',
    description:
      'Pins a message; any member may. Pinning it again changes nothing. A channel has at most ' +
      `${limits.pins} pins.`,
    input: MessageRef,
    output: field.Success,
    errors: ['VALIDATION_ERROR', 'NOT_FOUND', 'FORBIDDEN'],
  }),
  unpin: operation({
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}/pin',
    auth: 'user',
    idempotent: true,
    summary: 'Unpin a message',
    description:
      'Unpins a message; any member may. Unpinning a message that is not pinned changes nothing.',
    input: MessageRef,
    output: field.Success,
  }),
  list: operation({
    method: 'GET',
    path: '/api/channels/{channelId}/pins',
    auth: 'user',
    summary: 'List pinned messages',
    description:
      'Lists the pinned messages of a channel, the latest pin first. A list may end early: ' +
      '`more` says that more follow.',
    input: z.object({ channelId: field.channelId(), offset: field.offset() }),
    output: z.object({
      messages: z.array(PinnedMessage).meta({ description: 'The latest pin first.' }),
      more: field.more(),
    }),
  }),
}
