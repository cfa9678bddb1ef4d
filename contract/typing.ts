import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

/** Typing indicators. */
export const typing = {
  set: operation({
    method: 'POST',
    path: '/api/channels/{channelId}/typing',
    auth: 'user',
    summary: 'Send a typing indicator',
    description:
      'Sends `typing.start` to the channel, or `typing.stop` with `typing: false`. Without ' +
      `another call, \`typing.stop\` follows after ${limits.typingSeconds} seconds. ` +
      `Nothing is stored. Channels with more than ${limits.largeChannelMembers} members show no ` +
      'typing: there the call has no effect.',
    input: z.object({
      channelId: field.channelId(),
      typing: z
        .boolean()
        .default(true)
        .meta({ description: 'False when you have stopped typing.', examples: [true] }),
    }),
    output: field.Success,
  }),
}
