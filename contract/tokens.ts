import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { endpointPath } from './topics.ts'
import { profileFields, UserSummary } from './users.ts'

const jwtExample = 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln'

/** All that a front end needs to chat as one user. */
export const TokenResult = z
  .object({
    token: z
      .string()
      .meta({ description: 'Bearer token for the user API.', examples: [jwtExample] }),
    wsToken: z
      .string()
      .meta({ description: 'Token for the WebSocket connection.', examples: [jwtExample] }),
    user: UserSummary.extend({
      email: z
        .string()
        .optional()
        .meta({ description: 'Present if it is known.', examples: ['ana@example.com'] }),
    }).meta({ description: 'The user the tokens are for.' }),
    expiresIn: z.int().meta({
      description: 'How long both tokens are valid, in seconds.',
      examples: [limits.tokenLifetimeSeconds],
    }),
    appId: field.appId(),
    wsUrl: z.string().meta({
      description: 'Address of the WebSocket endpoint.',
      examples: [`ws://127.0.0.1:5501${endpointPath}`],
    }),
  })
  .meta({ id: 'TokenResult', description: 'What a front end needs to chat as one user.' })
export type TokenResult = z.infer<typeof TokenResult>

/** User tokens, created by a customer's backend. */
export const tokens = {
  create: operation({
    method: 'POST',
    path: '/tokens',
    auth: 'key',
    scope: 'mint',
    limit: 'tokens',
    summary: 'Create tokens for a user',
    description:
      'Creates the user if they do not exist, and sets the given profile fields (omitted fields ' +
      'keep their value, `null` clears a field, `custom` is replaced as a whole). Returns a ' +
      'bearer token and a WebSocket token, both valid for ' +
      `${limits.tokenLifetimeSeconds / 3_600} hours. For backends only.`,
    input: z.object({
      userId: field.ownUserId(),
      ...profileFields,
      admin: z
        .boolean()
        .optional()
        .meta({
          description:
            'Whether these tokens may administer other users (see USER_ADMIN_ACCESS). It takes ' +
            'an API key with the scope `full`.',
          examples: [false],
        }),
    }),
    output: TokenResult,
  }),
  revoke: operation({
    method: 'POST',
    path: '/tokens/revoke',
    auth: 'key',
    summary: "Revoke a user's tokens",
    description:
      'Revokes every token the user has so far and closes their WebSocket connections: at once ' +
      `on the server that handles this call, within ${limits.revocationSeconds} seconds on the ` +
      'others. For backends only.',
    input: z.object({ userId: field.userId() }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
