import { z } from 'zod'
import * as field from './fields.ts'
import { operation } from './operation.ts'

/** Who is writing just now (SPEC "Channels", DESIGN §4 typing). */
export const typing = {
  /** Tells the channel that the caller types, or no longer does. Stops by itself after 6 seconds; never stored. */
  set: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/typing',
    auth: 'user',
    summary: 'Tell that you are typing',
    description:
      'Sends `typing.start` to the channel, or `typing.stop` with `typing: false`. Without another call `typing.stop` follows by itself after 6 seconds. Nothing is stored.',
    input: z.object({
      channelId: field.channelId(),
      typing: z
        .boolean()
        .default(true)
        .meta({ description: 'False when you stopped.', examples: [true] }),
    }),
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
