import { z } from 'zod'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { Message, MessageRef } from './messages.ts'
import { operation } from './operation.ts'

const { quietSeconds, longestSeconds, storeSeconds } = limits.streams

/** Messages whose text grows: sent with `streaming: true`, then appended to, then finished. */
export const streams = {
  append: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/append',
    auth: 'user',
    limit: 'appends',
    idempotent: true,
    summary: 'Append to a message',
    description:
      'Appends text to your own message that was sent with `streaming: true`. The answer means ' +
      'that the text is in the database: no crash of a server loses it. Subscribers are sent it ' +
      'at once as `message.delta`; the message itself follows as `message.updated`, at most ' +
      `every ${storeSeconds} s. Without an append for ${quietSeconds} s the message is ` +
      `interrupted, and after ${grouped(longestSeconds)} s in any case; an empty text keeps it ` +
      'alive until then. Repeating an append changes nothing. Otherwise `at` must be the length ' +
      'so far: any other is a VALIDATION_ERROR that says this length. Once the message is ' +
      'finished, edited or interrupted, it is FORBIDDEN. ' +
      `${grouped(limits.rates.appends)} a minute for each user, also for a backend that acts as ` +
      'that user.',
    input: MessageRef.extend({
      text: field.text({ max: limits.textLength }).meta({
        description:
          `What to append. The whole text has at most ${grouped(limits.textLength)} characters. ` +
          'Do not split surrogate pairs.',
        examples: ['Hello'],
      }),
      at: z
        .int()
        .min(0)
        .max(limits.largestInteger)
        .meta({
          description:
            'The length of the text before it, in UTF-16 code units, as `length` of a string in ' +
            'JavaScript.',
          examples: [0],
        }),
    }),
    output: z.object({
      length: z.int().meta({
        description: 'The length of the text now, in UTF-16 code units: `at` of the next append.',
        examples: [5],
      }),
    }),
  }),
  finish: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/finish',
    auth: 'user',
    idempotent: true,
    summary: 'Finish a message',
    description:
      'Ends the stream of your own message: mentions and link previews are derived from the ' +
      'whole text, and its push is sent. A message that has ended is returned as it is; one that ' +
      'was never streamed is FORBIDDEN.',
    input: MessageRef,
    output: Message,
  }),
}
