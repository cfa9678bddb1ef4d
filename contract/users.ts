import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

/** A user as shown beside what he wrote or did. */
export const UserSummary = z
  .object({
    id: field.userId(),
    name: z
      .string()
      .meta({ description: 'Display name; the id when none is set.', examples: ['Ana'] }),
    image: z
      .string()
      .nullable()
      .meta({ description: 'Avatar URL.', examples: ['https://example.com/ana.png'] }),
  })
  .meta({ id: 'UserSummary', description: 'A user as shown beside what they wrote or did.' })
export type UserSummary = z.infer<typeof UserSummary>

/** A user in listings (SPEC "Users"). */
export const User = UserSummary.extend({
  lastActiveAt: field
    .timestamp()
    .nullable()
    .meta({
      description:
        'When the user last got a token, sent, read or was connected; exact to a minute.',
      examples: ['2026-11-21T09:30:00.000Z'],
    }),
  online: z.boolean().meta({ description: 'Whether the user is connected.', examples: [true] }),
}).meta({ id: 'User', description: 'A user in listings.' })
export type User = z.infer<typeof User>

const customAnswer = z.record(z.string(), z.unknown())
const email = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'E-mail address.', examples: ['ana@example.com'] })

/** A single user: with `custom`, and for oneself and backends with the e-mail address (DESIGN §4 users). */
export const UserDetails = User.extend({
  custom: customAnswer.meta({
    description: 'Metadata of the customer.',
    examples: [{ plan: 'pro' }],
  }),
  email: email(z.string().nullable())
    .optional()
    .meta({
      description: 'E-mail address: only for the user and for backends.',
      examples: ['ana@example.com'],
    }),
}).meta({ id: 'UserDetails', description: 'A user with metadata.' })

/** What can be said of a user: absent keeps, `null` clears, `custom` is replaced whole (DESIGN §4 users). */
export const profileFields = {
  name: field
    .name()
    .nullish()
    .meta({ description: 'Display name.', examples: ['Ana'] }),
  email: email(z.email().max(limits.emailLength).nullish()),
  image: field
    .url()
    .nullish()
    .meta({ description: 'Avatar URL.', examples: ['https://example.com/ana.png'] }),
  custom: field
    .custom()
    .nullish()
    .meta({
      description: 'Your own metadata: at most 16 KB of JSON, nested at most 20 deep.',
      examples: [{ plan: 'pro' }],
    }),
}

/** One user of POST /api/users/sync. */
export const UserRow = z
  .object({ id: field.userId(), ...profileFields })
  .meta({ id: 'UserRow', description: 'One user of a synchronisation.' })
export type UserRow = z.infer<typeof UserRow>

const RowError = z.object({
  id: z
    .string()
    .nullable()
    .meta({ description: 'The id of the refused row, as far as it has one.', examples: ['ana'] }),
  message: z
    .string()
    .meta({ description: 'What is wrong with it.', examples: ['email: Invalid email address'] }),
})

/** A row of a synchronisation, or what is wrong with it: one bad row does not refuse the others. */
const judged = z
  .union([
    UserRow.transform((user) => ({ user })),
    z.unknown().transform((row) => ({ error: complaintOf(row) })),
  ])
  .meta({
    description: 'A user: `id` and the fields to set.',
    examples: [{ id: 'ana', name: 'Ana' }],
    // The document shows what a row should be.
    override: ({ jsonSchema }: { jsonSchema: { anyOf?: object[] } }) => {
      const [row] = jsonSchema.anyOf ?? []
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, row)
    },
  })
// Callers pass rows; that anything is let through for the time being is no business of theirs.
const JudgedRow = judged as unknown as z.ZodType<z.output<typeof judged>, UserRow>

function complaintOf(row: unknown): z.infer<typeof RowError> {
  const issues = UserRow.safeParse(row).error?.issues ?? []
  const { id } = z
    .object({ id: z.string().nullable().catch(null) })
    .catch({ id: null })
    .parse(row)
  return {
    id,
    message: issues
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
      .join('; '),
  }
}

const Ref = z.object({ userId: field.userId() })

/** Users, as the customer's own user system knows them (SPEC "Users", DESIGN §4 users, §6). */
export const users = {
  /** The users of the app by name, then id. */
  list: operation({
    method: 'GET',
    path: '/api/users',
    auth: 'userOrKey',
    summary: 'List users',
    description: 'The users of the app, by name. `q` finds a part of the name in any case.',
    input: z.object({
      limit: field.pageSize(limits.page.users),
      offset: field.offset(),
      q: field
        .text({ max: limits.nameLength })
        .optional()
        .meta({ description: 'Part of the name, in any case.', examples: ['an'] }),
    }),
    output: z.object({ users: z.array(User).meta({ description: 'By name, then id.' }) }),
  }),
  /** One user. The e-mail address is shown to the user and to backends only. */
  get: operation({
    method: 'GET',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    summary: 'Get a user',
    description:
      'One user with metadata. The e-mail address is shown to the user and to backends only.',
    input: Ref,
    output: UserDetails,
    errors: ['NOT_FOUND'],
  }),
  /** Creates and updates up to 1,000 users; rows are judged one by one. */
  sync: operation({
    method: 'POST',
    path: '/api/users/sync',
    auth: 'userOrKey',
    bodyLimit: limits.syncBodyBytes,
    summary: 'Synchronise users',
    description:
      'Creates and updates up to 1,000 users at once (absent keeps, `null` clears, `custom` is replaced whole). Rows are judged one by one: `errors` tells which were refused and why. The last row of an id counts. Needs the right to administer users.',
    input: z.object({
      users: z
        .array(JudgedRow)
        .max(limits.usersPerCall)
        .meta({ description: 'At most 1,000.', examples: [[{ id: 'ana', name: 'Ana' }]] }),
    }),
    output: z.object({
      synced: z.int().meta({ description: 'Users created and updated.', examples: [2] }),
      created: z.int().meta({ description: 'Users that were new.', examples: [1] }),
      updated: z.int().meta({ description: 'Users that existed.', examples: [1] }),
      errors: z.array(RowError).meta({ description: 'The refused rows.', examples: [[]] }),
    }),
    errors: ['FORBIDDEN'],
  }),
  /** Creates or updates a user. Absent fields keep their value, `null` clears, `custom` is replaced whole. */
  put: operation({
    method: 'PUT',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    summary: 'Create or update a user',
    description:
      'Absent fields keep their value, `null` clears, `custom` is replaced whole. The returned `custom` also carries the e-mail address. For oneself, or with the right to administer users.',
    input: Ref.extend(profileFields),
    output: UserSummary.extend({
      email: email(z.string().nullable()),
      custom: customAnswer.meta({
        description: 'Your metadata, and `email` when it is set.',
        examples: [{ plan: 'pro', email: 'ana@example.com' }],
      }),
    }),
    errors: ['FORBIDDEN'],
  }),
  /** Deletes a user with everything that is his. */
  delete: operation({
    method: 'DELETE',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    summary: 'Delete a user',
    description:
      'Wipes profile, devices and preferences and ends all tokens at once; soon after the user has left all channels, and messages and reactions are gone. For oneself, or with the right to administer users.',
    input: Ref,
    output: field.Success.extend({
      deletedUserId: field.userId().meta({ description: 'Who was deleted.' }),
    }),
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  /** Deletes several users; unknown ids are left out of the answer. */
  bulkDelete: operation({
    method: 'POST',
    path: '/api/users/bulk-delete',
    auth: 'userOrKey',
    summary: 'Delete users',
    description:
      'Deletes up to 1,000 users as DELETE does for one. Unknown ids are left out of `deleted`. Needs the right to administer users.',
    input: z.object({
      userIds: z
        .array(field.text({ max: limits.nameLength }))
        .max(limits.usersPerCall)
        .meta({ description: 'Whom to delete; at most 1,000.', examples: [['ana', 'ben']] }),
    }),
    output: field.Success.extend({
      deleted: z.array(field.userId()).meta({
        description: 'The users that existed, in the order asked.',
        examples: [['ana', 'ben']],
      }),
      count: z.int().meta({ description: 'How many they are.', examples: [2] }),
    }),
    errors: ['FORBIDDEN'],
  }),
}
