import { z } from 'zod'
import { Channel } from './channels.ts'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'

/** What changed in a channel since a `rev`: either `removed`, or everything else. */
export const ChannelChanges = z
  .object({
    removed: z
      .literal(true)
      .optional()
      .meta({
        description:
          'The channel was deleted, or the caller is no longer a member. No other field is set.',
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
  })
  .meta({ id: 'ChannelChanges', description: 'What changed in a channel since a `rev`.' })
export type ChannelChanges = z.infer<typeof ChannelChanges>

/** Catching up after being offline. */
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
      `${grouped(limits.sync.messages)} messages and ${limits.answerBytes / 1024 / 1024} MB. ` +
      'With `more`, call again for the channels that have more.',
    input: z.object({
      channels: z
        .record(field.channelId(), z.int().min(0).max(limits.largestInteger))
        .refine(
          (revs) => Object.keys(revs).length <= limits.sync.channels,
          `expected at most ${limits.sync.channels} channels`,
        )
        .meta({
          description:
            'The `rev` you know, by channel id; 0 if you know nothing of the channel. At most ' +
            `${limits.sync.channels} channels.`,
          examples: [{ [field.examples.channelId]: 31 }],
        }),
    }),
    output: z.object({
      channels: z.record(z.string(), ChannelChanges).meta({
        description: 'By channel id: an entry for each requested channel.',
        examples: [{ [field.examples.channelId]: { removed: true } }],
      }),
      more: z
        .boolean()
        .meta({ description: 'Whether any channel has more changes.', examples: [false] }),
    }),
  }),
}
