import { z } from 'zod'
import { Channel } from './channels.ts'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { Message } from './messages.ts'
import { operation } from './operation.ts'

/** What became of a channel since a rev. Either `removed`, or everything else (DESIGN §4 sync). */
export const ChannelChanges = z
  .object({
    removed: z
      .literal(true)
      .optional()
      .meta({
        description:
          'The channel is gone, or the caller is no longer a member. Nothing else is told.',
        examples: [true],
      }),
    resync: z
      .literal(true)
      .optional()
      .meta({
        description: 'Too many changes: load the channel anew; `messages` is empty.',
        examples: [true],
      }),
    more: z
      .literal(true)
      .optional()
      .meta({ description: 'There are more changes: ask again from `rev`.', examples: [true] }),
    rev: z
      .int()
      .optional()
      .meta({
        description: 'What is told goes up to here: ask from this the next time.',
        examples: [31],
      }),
    channel: Channel.optional().meta({
      description: 'The channel now, with membership and read state of the caller.',
    }),
    messages: z.array(Message).optional().meta({
      description: 'Messages changed since, tombstones of deleted ones included, ascending by rev.',
    }),
  })
  .meta({ id: 'ChannelChanges', description: 'What became of a channel since a rev.' })
export type ChannelChanges = z.infer<typeof ChannelChanges>

/** Catching up after having been away (DESIGN §4 sync). */
export const sync = {
  /** What happened in the caller's channels since the revs he knows. Safe to repeat: nothing is consumed. */
  pull: operation({
    method: 'POST',
    path: '/api/sync',
    auth: 'user',
    summary: 'Catch up',
    description:
      'For each channel and the `rev` you know of it: the messages changed since, and the channel as it is now. An answer holds at most 2,000 messages; `more` says that there are more to ask for.',
    input: z.object({
      channels: z
        .record(field.channelId(), z.int().min(0).max(limits.largestInteger))
        .refine(
          (revs) => Object.keys(revs).length <= limits.sync.channels,
          `expected at most ${limits.sync.channels} channels`,
        )
        .meta({
          description: 'The rev you know, by channel id; 0 for nothing. At most 200.',
          examples: [{ '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81': 31 }],
        }),
    }),
    output: z.object({
      channels: z.record(z.string(), ChannelChanges).meta({
        description: 'By channel id: an entry for each channel asked for.',
        examples: [{ '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81': { removed: true } }],
      }),
      more: z
        .boolean()
        .meta({ description: 'Whether any channel has more to ask for.', examples: [false] }),
    }),
  }),
}
