import { z } from 'zod'
import { limits } from './limits.ts'

/** Building blocks of the schemas: each knows what Postgres and JSON can hold, so that nothing else has to. */

const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()
const codePoints = (value: string) => {
  let count = 0
  for (const _ of value) count++
  return count
}

/** A string of at most `max` characters, counted as code points, without NUL and lone surrogates. */
export const text = ({ min = 0, max }: { min?: number; max: number }) =>
  z
    .string()
    .min(min, `expected at least ${min} character${min === 1 ? '' : 's'}`)
    .refine(
      (value) => value.length <= max || codePoints(value) <= max,
      `expected at most ${max} characters`,
    )
    .refine(isStorable, 'expected text without NUL and lone surrogates')
    .meta({ maxLength: max })

/** An absolute http or https URL. */
export const url = () =>
  text({ min: 1, max: limits.urlLength })
    .refine(isHttpUrl, 'expected an http or https URL')
    .meta({ format: 'uri' })
const isHttpUrl = (value: string) =>
  URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)

/** The name of a person or a thing. */
export const name = () => text({ min: 1, max: limits.nameLength })

/** The caller's own key for a create, so that a repeat after a lost answer gives the first result. */
export const clientId = () =>
  text({ min: 1, max: limits.clientIdLength }).meta({
    description:
      'Your own key for this create. A repeat with the same key answers with the first result instead of a second one.',
    examples: ['outbox-17'],
  })

export const uuid = () => z.guid('expected a UUID').toLowerCase()
export const channelId = () =>
  uuid().meta({
    description: 'Id of the channel.',
    examples: ['019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'],
  })
export const messageId = () =>
  uuid().meta({
    description: 'Id of the message.',
    examples: ['019c9b1f-02d4-7d3a-9a53-6f1c2e4b8d90'],
  })
export const appId = () =>
  uuid().meta({
    description: 'Id of the app (tenant).',
    examples: ['019c9b1d-11aa-7b2c-8c3d-4e5f60718293'],
  })

/** A user's id in the customer's own system: 1–255 printable ASCII characters without space and slash (DESIGN §4 users). */
export const userId = () =>
  z
    .string()
    .regex(
      /^[!-.0-~]{1,255}$/,
      'expected 1 to 255 printable ASCII characters without space and slash',
    )
    .refine(
      (value) => value !== '.' && value !== '..',
      'expected something other than "." and ".."',
    )
    .meta({ description: "The user's id in your own system.", examples: ['ana'] })

export const timestamp = () => z.iso.datetime()
export const count = () => z.int().min(0)

/** A page size: below 1 is refused, above the maximum means the maximum. */
export const pageSize = (page: { default: number; max: number }) =>
  z
    .int()
    .min(1)
    .overwrite((value) => Math.min(value, page.max))
    .default(page.default)
    .meta({
      description: `Page size; above ${page.max} means ${page.max}.`,
      examples: [page.default],
    })
export const offset = () =>
  z
    .int()
    .min(0)
    .max(limits.largestInteger)
    .default(0)
    .meta({ description: 'How many entries to skip.', examples: [0] })

/** Free-form metadata: a JSON object of bounded size and depth. */
export const custom = () =>
  z
    .record(z.string(), z.unknown())
    .superRefine((value, context) => {
      const problem = jsonProblem(value)
      if (problem) context.addIssue({ code: 'custom', message: problem })
    })
    .meta({
      description: 'Your own metadata: at most 16 KB of JSON, nested at most 20 deep.',
      examples: [{ plan: 'pro' }],
    })

const jsonProblem = (value: unknown) => {
  if (depthBeyond(value, limits.customDepth)) return `expected at most ${limits.customDepth} levels`
  if (new TextEncoder().encode(JSON.stringify(value)).length > limits.customBytes)
    return `expected at most ${limits.customBytes} bytes of JSON`
  if (!isAllStorable(value)) return 'expected text without NUL and lone surrogates'
}
const isAllStorable = (value: unknown): boolean =>
  typeof value === 'string'
    ? isStorable(value)
    : typeof value !== 'object' ||
      value === null ||
      Object.entries(value).flat().every(isAllStorable)
const depthBeyond = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => depthBeyond(inner, levels - 1)))

/** The answer of operations that have nothing else to say. */
export const Success = z.object({
  success: z
    .boolean()
    .meta({ description: 'Always true; a refusal is an error answer.', examples: [true] }),
})
