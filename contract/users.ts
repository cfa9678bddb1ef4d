import { z } from 'zod'
import { userCustom } from './custom.ts'
import * as field from './fields.ts'
import { formatIssues } from './issues.ts'
import { grouped, limits, PAGE_END } from './limits.ts'
import { operation } from './operation.ts'
import { exportUser } from './user-export.ts'

const avatar = { description: 'Avatar URL.', examples: ['https://example.com/ana.png'] }
const email = <S extends z.ZodType>(schema: S) =>
  schema.meta({ description: 'E-mail address.', examples: ['ana@example.com'] })

/** A user as shown next to what they wrote or did. */
export const UserSummary = z
  .object({
    id: field.userId(),
    name: z
      .string()
      .meta({ description: 'Display name; the id if none is set.', examples: ['Ana'] }),
    image: z.string().nullable().meta(avatar),
  })
  .meta({ id: 'UserSummary', description: 'A user as shown next to what they wrote or did.' })
export type UserSummary = z.infer<typeof UserSummary>

/** A user in lists. */
export const User = UserSummary.extend({
  lastActiveAt: field
    .timestamp()
    .nullable()
    .meta({
      description:
        'When the user last got a token, sent or read a message, or was connected; accurate to ' +
        'one minute.',
      examples: [field.examples.time],
    }),
  online: z.boolean().meta({ description: 'Whether the user is connected.', examples: [true] }),
  presenceVersion: field.presenceVersion(),
}).meta({ id: 'User', description: 'A user in lists.' })
export type User = z.infer<typeof User>

const storedCustom = z.record(z.string(), z.unknown())
/** A single user with `custom`, and for the user and for backends with the e-mail address. */
export const UserDetails = User.extend({
  custom: storedCustom.meta({ description: 'Your own metadata.', examples: [{ plan: 'pro' }] }),
  email: email(z.string().nullable())
    .optional()
    .meta({
      description: 'E-mail address: only for the user and for backends.',
      examples: ['ana@example.com'],
    }),
}).meta({ id: 'UserDetails', description: 'A user with metadata.' })

/** The fields that can be set: an omitted one keeps its value, `null` clears it. */
export const profileFields = {
  name: field
    .name()
    .nullish()
    .meta({ description: 'Display name.', examples: ['Ana'] }),
  // The length first: the pattern is slow on a megabyte.
  email: email(z.string().max(limits.emailLength, { abort: true }).email().nullish()),
  image: field.url().nullish().meta(avatar),
  custom: userCustom(),
}

/** One user of `POST /api/users/sync`. */
export const UserInput = z
  .object({ id: field.ownUserId(), ...profileFields })
  .meta({ id: 'UserInput', description: 'One user of a synchronisation.' })
export type UserInput = z.infer<typeof UserInput>

const RowError = z.object({
  id: z
    .string()
    .nullable()
    .meta({ description: 'The id of the rejected row, if it has one.', examples: ['ana'] }),
  message: z
    .string()
    .meta({ description: 'What is wrong with it.', examples: ['email: Invalid email address'] }),
})

/** A valid row, or what is wrong with it: one bad row does not reject the others. */
const lenientRow = z
  .union([
    UserInput.transform((user) => ({ user })),
    z.unknown().transform((row) => ({ error: rowError(row) })),
  ])
  .meta({
    description: 'A user: `id` and the fields to set.',
    examples: [{ id: 'ana', name: 'Ana' }],
    // The document shows only what a row should look like.
    override: ({ jsonSchema }: { jsonSchema: { anyOf?: object[] } }) => {
      const [row] = jsonSchema.anyOf ?? []
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, row)
    },
  })
// For callers the input is a row. Other values pass too: each row is checked alone.
const LenientRow = lenientRow as unknown as z.ZodType<z.output<typeof lenientRow>, UserInput>

const RowId = z.object({ id: z.string().nullable().catch(null) }).catch({ id: null })
function rowError(row: unknown): z.infer<typeof RowError> {
  const { id } = RowId.parse(row)
  return { id, message: formatIssues(UserInput.safeParse(row).error?.issues ?? []) }
}

const Ref = z.object({ userId: field.userId() })

/** The users of an app, as the customer's own user system knows them. */
export const users = {
  list: operation({
    method: 'GET',
    path: '/api/users',
    auth: 'userOrKey',
    summary: 'List users',
    description:
      'Lists the users of the app by name. `q` matches a part of the name; `ids` asks for ' +
      'certain users, and is given without `q` and `offset`. ' +
      PAGE_END,
    input: z
      .object({
        limit: field.pageSize(limits.page.users),
        offset: field.offset(),
        cursor: field.cursor(),
        q: field
          .text({ max: limits.nameLength })
          .optional()
          .meta({ description: 'Part of the name, case-insensitive.', examples: ['an'] }),
        ids: z
          .array(field.text({ max: limits.userIdLength }))
          .max(limits.page.users.max)
          .optional()
          .meta({
            description:
              `Only these users, whatever the \`limit\`: at most ${limits.page.users.max} ids, ` +
              'joined by commas or each in a parameter of its own. Unknown ids are left out.',
            examples: [['ana', 'ben']],
          }),
      })
      .refine(({ ids, q, offset }) => ids === undefined || (!q && !offset), {
        error: 'expected no q and offset beside it',
        path: ['ids'],
      }),
    output: z.object({
      users: z.array(User).meta({ description: 'By name, then id.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  get: operation({
    method: 'GET',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    summary: 'Get a user',
    description:
      'Returns one user with metadata. Only the user and backends see the e-mail address.',
    input: Ref,
    output: UserDetails,
    errors: ['NOT_FOUND'],
  }),
  sync: operation({
    method: 'POST',
    path: '/api/users/sync',
    auth: 'userOrKey',
    bodyLimit: limits.syncBodyBytes,
    summary: 'Synchronize users',
    description:
      `Creates and updates up to ${grouped(limits.usersPerCall)} users at once. Omitted fields ` +
      'keep their value, `null` clears a field, `custom` is replaced as a whole. An invalid row ' +
      'does not reject the others: `errors` lists the rejected rows and why. If an id occurs ' +
      'more than once, its last row counts. Requires the right to administer users.',
    input: z.object({
      users: z
        .array(LenientRow)
        .max(limits.usersPerCall)
        .meta({
          description: `At most ${grouped(limits.usersPerCall)}.`,
          examples: [[{ id: 'ana', name: 'Ana' }]],
        }),
    }),
    output: z.object({
      synced: z.int().meta({ description: 'Users created and updated.', examples: [2] }),
      created: z.int().meta({ description: 'Users that were new.', examples: [1] }),
      updated: z.int().meta({ description: 'Users that existed.', examples: [1] }),
      errors: z.array(RowError).meta({ description: 'The rejected rows.', examples: [[]] }),
    }),
    errors: ['FORBIDDEN'],
  }),
  put: operation({
    method: 'PUT',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    idempotent: true,
    summary: 'Create or update a user',
    description:
      'Creates the user if they do not exist, and sets the given fields. Omitted fields keep ' +
      'their value, `null` clears a field, `custom` is replaced as a whole. The returned ' +
      '`custom` also has the e-mail address. Allowed for yourself, or with the right to ' +
      'administer users.',
    input: z.object({ userId: field.ownUserId(), ...profileFields }),
    output: UserSummary.extend({
      email: email(z.string().nullable()),
      custom: storedCustom.meta({
        description: 'Your own metadata, and `email` if it is set.',
        examples: [{ plan: 'pro', email: 'ana@example.com' }],
      }),
    }),
    errors: ['FORBIDDEN'],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api/users/{userId}',
    auth: 'userOrKey',
    summary: 'Delete a user',
    description:
      'Erases the profile, devices and preferences and revokes all tokens at once. A background ' +
      'job then removes the user from all channels and deletes their messages and reactions. ' +
      'Allowed for yourself, or with the right to administer users.',
    input: Ref,
    output: field.Success.extend({
      deletedUserId: field.userId().meta({ description: 'The deleted user.' }),
    }),
  }),
  bulkDelete: operation({
    method: 'POST',
    path: '/api/users/bulk-delete',
    auth: 'userOrKey',
    summary: 'Delete users',
    description:
      `Deletes up to ${grouped(limits.usersPerCall)} users, like DELETE does for one. Unknown ` +
      'ids are missing from `deleted`. Requires the right to administer users.',
    input: z.object({
      userIds: z
        .array(field.text({ max: limits.nameLength }))
        .max(limits.usersPerCall)
        .meta({
          description: `The users to delete; at most ${grouped(limits.usersPerCall)}.`,
          examples: [['ana', 'ben']],
        }),
    }),
    output: field.Success.extend({
      deleted: z.array(field.userId()).meta({
        description: 'The users that existed, in the given order.',
        examples: [['ana', 'ben']],
      }),
      count: z.int().meta({ description: 'How many were deleted.', examples: [2] }),
    }),
    errors: ['FORBIDDEN'],
  }),
  export: exportUser,
}
