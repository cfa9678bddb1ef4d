import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { profileFields, UserSummary } from './users.ts'

/** What a front end needs to chat as one user (SPEC "Token result"). */
export const TokenResult = z
  .object({
    token: z.string().meta({
      description: 'Bearer token for the user API.',
      examples: ['eyJhbGciOiJIUzI1NiJ9.e30.c2ln'],
    }),
    wsToken: z.string().meta({
      description: 'Token for the real-time connection.',
      examples: ['eyJhbGciOiJIUzI1NiJ9.e30.c2ln'],
    }),
    user: UserSummary.extend({
      email: z
        .string()
        .optional()
        .meta({ description: 'Present when it is known.', examples: ['ana@example.com'] }),
    }).meta({ description: 'The user the tokens are for.' }),
    expiresIn: z.int().meta({
      description: 'Validity of both tokens in seconds.',
      examples: [limits.tokenLifetimeSeconds],
    }),
    appId: field.appId(),
    wsUrl: z.string().meta({
      description: 'Address of the real-time endpoint.',
      examples: ['ws://127.0.0.1:5501/connection/websocket'],
    }),
  })
  .meta({ id: 'TokenResult', description: 'What a front end needs to chat as one user.' })
export type TokenResult = z.infer<typeof TokenResult>

/** User tokens, minted by a customer's backend (SPEC "Authentication"). */
export const tokens = {
  /** Creates or updates the user and mints both tokens. Absent fields keep their value, `null` clears. */
  create: operation({
    method: 'POST',
    path: '/tokens',
    auth: 'key',
    limit: 'tokens',
    summary: 'Mint tokens for a user',
    description:
      'Creates the user if need be, updates the profile fields that are given (absent keeps, `null` clears, `custom` is replaced whole) and mints a bearer token and a real-time token, both valid for 24 hours. For backends only.',
    input: z.object({
      userId: field.userId(),
      ...profileFields,
      admin: z
        .boolean()
        .optional()
        .meta({
          description: 'Makes these tokens administer other users too (see USER_ADMIN_ACCESS).',
          examples: [false],
        }),
    }),
    output: TokenResult,
  }),
  /** Ends every token of a user minted so far: at once on the node that is asked, within 5 s on the others. */
  revoke: operation({
    method: 'POST',
    path: '/tokens/revoke',
    auth: 'key',
    summary: "End a user's tokens",
    description:
      'Ends every token of the user minted so far and closes his sockets: at once on the node that is asked, within 5 s on all others. For backends only.',
    input: z.object({ userId: field.userId() }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
