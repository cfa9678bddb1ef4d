import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const kinds = [
  'profile',
  'device',
  'preferences',
  'workspace',
  'membership',
  'message',
  'reaction',
  'read',
  'pin',
  'formerMembership',
  'invite',
  'inviteUse',
] as const

/** One thing that is stored about a user. */
export const ExportItem = z
  .object({
    kind: z.enum(kinds).meta({ description: 'What it is.', examples: ['message'] }),
    data: z.record(z.string(), z.unknown()).meta({
      description: 'The thing itself, with ids of what it belongs to. No tokens of devices.',
      examples: [{ channelId: field.examples.channelId, seq: 12, text: 'Hello @ben' }],
    }),
  })
  .meta({ id: 'ExportItem', description: 'One thing that is stored about a user.' })
export type ExportItem = z.infer<typeof ExportItem>

/** Everything about a user, in pages or as a stream. */
export const exportUser = operation({
  method: 'GET',
  path: '/api/users/{userId}/export',
  auth: 'key',
  scope: 'full',
  summary: 'Export the data of a user',
  description:
    'Everything personal that is stored about a user: profile, devices without their push ' +
    'tokens, preferences, workspaces, memberships, messages, reactions, read positions, pins, ' +
    'channels that they left, and invites that they made or used; at most ' +
    `${limits.exportPage} items a page. With ` +
    '`Accept: application/x-ndjson` all pages from the cursor on are streamed, one item a line. ' +
    'After each page comes a line like `{"kind":"cursor","cursor":"…"}`, and the last line is ' +
    '`{"kind":"end"}`: a stream without it was cut short, and goes on with the last cursor. A ' +
    `stream counts as one call; a key has at most ${limits.exportsAtOnce} at once with each ` +
    'process of the service. What changes meanwhile may be in it or not. Each export is noted in ' +
    'the audit log when it begins; its ' +
    `cursors are good for ${limits.exportHours} hours, with the API key that began it.`,
  input: z.object({ userId: field.userId(), cursor: field.cursor() }),
  output: z.object({
    items: z.array(ExportItem).meta({ description: 'By kind. A page may end early.' }),
    nextCursor: field.nextCursor(),
  }),
  errors: ['NOT_FOUND', 'FORBIDDEN'],
})
