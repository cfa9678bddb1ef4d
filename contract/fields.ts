import { z } from 'zod'
import { grouped, limits } from './limits.ts'

/**
 * Building blocks of the schemas. They accept only what PostgreSQL and JSON can store, so that no
 * other code has to check.
 */

/** Values that several examples share. */
export const examples = {
  time: '2026-11-21T09:30:00.000Z',
  appId: '019c9b1d-11aa-7b2c-8c3d-4e5f60718293',
  channelId: '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81',
  messageId: '019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90',
  workspaceId: '019c9b1c-5d4e-7a1b-9c2d-3e4f50617283',
  inviteId: '019c9b20-6e3f-7b4c-8d5e-6f7081920314',
  webhookId: '019c9b21-7f40-7c5d-8e6f-708192031425',
}

export const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()
const codePoints = (value: string) => {
  let count = 0
  for (const _ of value) count++
  return count
}

/** A string of at most `max` characters, counted as code points, without NUL or lone surrogates. */
export const text = ({ min = 0, max }: { min?: number; max: number }) =>
  z
    .string()
    .min(min, `expected at least ${min} character${min === 1 ? '' : 's'}`)
    .refine(
      (value) => value.length <= max || codePoints(value) <= max,
      `expected at most ${max} characters`,
    )
    .refine(isStorable, 'expected text without NUL and lone surrogates')
    // Generators do not know lone surrogates.
    .meta({ maxLength: max, pattern: '^[^\\u0000]*$' })

/** How long a text is in UTF-8. */
export const byteLength = (value: string) => new TextEncoder().encode(value).length

/** The arguments of a refinement that limits how long a text is in UTF-8. */
export const atMostBytes = (max: number) =>
  [(value: string) => byteLength(value) <= max, `expected at most ${max} bytes`] as const

/** An absolute http or https URL. */
export const url = () =>
  text({ min: 1, max: limits.urlLength })
    .refine(isHttpUrl, 'expected an http or https URL')
    .meta({ format: 'uri' })
const isHttpUrl = (value: string) =>
  URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)

/** The name of a person or a thing. */
export const name = () => text({ min: 1, max: limits.nameLength })

/** The caller's own key for a create: a retry after a lost response returns the first result. */
export const clientId = () =>
  text({ min: 1, max: limits.clientIdLength }).meta({
    description:
      'Your own key for this create. A retry with the same key returns the first result ' +
      'instead of creating a second one.',
    examples: ['outbox-17'],
  })

export const uuid = () => z.guid('expected a UUID').toLowerCase()
/** A UUID in the form in which it is stored. */
export const canonicalUuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
export const appId = () =>
  uuid().meta({ description: 'Id of the app (tenant).', examples: [examples.appId] })
export const channelId = () =>
  uuid().meta({ description: 'Id of the channel.', examples: [examples.channelId] })
export const messageId = () =>
  uuid().meta({ description: 'Id of the message.', examples: [examples.messageId] })
export const workspaceId = () =>
  uuid().meta({ description: 'Id of the workspace.', examples: [examples.workspaceId] })
export const inviteId = () =>
  uuid().meta({ description: 'Id of the invite.', examples: [examples.inviteId] })
export const webhookId = () =>
  uuid().meta({ description: 'Id of the webhook.', examples: [examples.webhookId] })
export const deliveryId = () =>
  z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'expected the id of a delivery')
    .meta({ description: 'Id of the delivery.', examples: ['4711'] })

/** The author of system messages: no user can have this id. */
export const systemUserId = 'parley.system'

const USER_ID = new RegExp(`^[!-.0-~]{1,${limits.userIdLength}}$`)
/** A user id, which is no "." or ".." (steps in paths), for engines without look-ahead. */
const USER_ID_PATTERN = '^([!-,\\-0-~]|\\.[!-,\\-0-~]|\\.\\.[!-.0-~])[!-.0-~]*$'
const isNoPathStep = (value: string) => value !== '.' && value !== '..'
export const isUserId = (value: string) => USER_ID.test(value) && isNoPathStep(value)
/** A user's id in the customer's own system. */
export const userId = () =>
  z
    .string()
    .regex(
      USER_ID,
      `expected 1 to ${limits.userIdLength} printable ASCII characters without space and slash`,
    )
    .refine(isNoPathStep, 'expected something other than "." and ".."')
    .meta({
      description: "The user's id in your own system.",
      examples: ['ana'],
      minLength: 1,
      maxLength: limits.userIdLength,
      pattern: USER_ID_PATTERN,
    })

/** The database refuses times with any number of digits, and has no year 0. */
export const timestamp = () =>
  z.iso
    .datetime()
    .refine((value) => value >= '0001', 'expected a time since year 1')
    .refine(
      (value) => value.length <= '2026-01-01T00:00:00.123456789Z'.length,
      'expected at most 9 digits of a second',
    )
export const presenceVersion = () =>
  z.int().meta({
    description:
      'Version of whether the user is online: in events `version`, in users `presenceVersion`. ' +
      'Ignore a value whose version is lower than the last one you saw.',
    examples: [12],
  })

/** A timestamp with its description. */
export const time = (description: string, example = examples.time) =>
  timestamp().meta({ description, examples: [example] })

/** A page size: below 1 is an error, above the maximum means the maximum. */
export const pageSize = (page: { default: number; max: number }) =>
  z
    .int()
    .min(1)
    .overwrite((value) => Math.min(value, page.max))
    .default(page.default)
    .meta({
      description: `Page size. Above ${grouped(page.max)} means ${grouped(page.max)}.`,
      examples: [page.default],
    })
export const offset = () =>
  z
    .int()
    .min(0)
    .max(limits.largestInteger)
    .default(0)
    .meta({
      description:
        'How many entries to skip: as many as the pages before had; a page may be short.',
      examples: [0],
    })

/** Says of a list that ends early that more follow. */
export const more = () =>
  z
    .literal(true)
    .optional()
    .meta({
      description: 'More follow: call again with an `offset` past these.',
      examples: [true],
    })

/** Where the next page of a list begins. */
export const cursor = () =>
  z
    .string()
    .min(1)
    .max(limits.cursorLength)
    .optional()
    .meta({
      description:
        '`nextCursor` of an earlier page: the list goes on after it, whatever was added or ' +
        'removed meanwhile, and as fast on the last page as on the first. `offset` counts from ' +
        'there.',
      examples: ['WyJBbmEiLCJhbmEiXQ'],
    })
export const nextCursor = () =>
  z
    .string()
    .nullable()
    .meta({
      description: 'The `cursor` of the next page; null on the last page.',
      examples: ['WyJBbmEiLCJhbmEiXQ'],
    })

/** The id of a user who may be new. */
export const ownUserId = () =>
  userId()
    .refine((id) => id !== systemUserId, `expected something other than "${systemUserId}"`)
    .meta({ description: "The user's id in your own system.", examples: ['ana'] })

/** The output of operations that return nothing else. */
export const Success = z
  .object({
    success: z
      .boolean()
      .meta({ description: 'Always true: a failure is an error response.', examples: [true] }),
  })
  .meta({ id: 'Success', description: 'The call was carried out.' })

export const wantsTotal = () =>
  z
    .boolean()
    .default(false)
    .meta({ description: 'Whether to count all unread messages.', examples: [false] })
export const totalUnread = () =>
  z
    .int()
    .optional()
    .meta({ description: 'With `total`: unread messages in all channels.', examples: [3] })

export const totalVersion = () =>
  z.int().meta({
    description:
      'Version of the total, like `version` in `channel.total_unread_changed`. Ignore a total ' +
      'whose version is lower than the last one you saw.',
    examples: [6_103_040],
  })

export const settingsVersion = () =>
  z.int().meta({
    description:
      "Version of `starred` and `muted`: the offset of the caller's own topic up to which its " +
      'events are in this response. Of two responses the one with the higher one is newer.',
    examples: [12],
  })
