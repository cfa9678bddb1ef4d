import { z } from 'zod'
import { isStorable } from './fields.ts'
import { limits } from './limits.ts'

/** Free-form metadata: a JSON object of bounded size and depth, or null. */
export const userCustom = () => {
  const meta = {
    description:
      `Your own metadata: at most ${limits.customBytes / 1024} KB of JSON, with all digits of ` +
      `numbers, nested at most ${limits.customDepth} levels deep.`,
    examples: [{ plan: 'pro' }],
  }
  return jsonObject({ bytes: limits.customBytes, depth: limits.customDepth })
    .meta(meta)
    .nullish()
    .meta(meta)
}

/** `title` names the type that applications declare for it. */
type CustomDataMeta = { title: string; description?: string }

/** Metadata of a message, channel, member or attachment, as given with a new one. */
export const customData = ({ title, description = '' }: CustomDataMeta) =>
  jsonObject(limits.customData).meta({
    title,
    description:
      `Your own metadata: at most ${limits.customData.bytes / 1024} KB of JSON, with all digits ` +
      `of numbers, nested at most ${limits.customData.depth} levels deep. ${description}`.trimEnd(),
    examples: [{ orderId: 7 }],
  })
/** Metadata in a change, merged as in RFC 7396 at the top level. */
export const customChange = ({ title }: CustomDataMeta) => {
  const changed = customData({
    title,
    description:
      'Its keys replace those that are there, `null` as a value removes a key, and keys that are ' +
      'left out stay; `null` removes all.',
  })
  return changed
    .nullable()
    .meta({ ...z.globalRegistry.get(changed) })
    .optional()
}
/** Metadata as answers have it. */
export const customAnswer = ({ title, description = '' }: CustomDataMeta) =>
  z.record(z.string(), z.unknown()).meta({
    title,
    description: `Your own metadata. ${description}`.trimEnd(),
    examples: [{ orderId: 7 }],
  })

type JsonBounds = { bytes: number; depth: number }

const jsonObject = (bounds: JsonBounds) =>
  z.record(z.string(), z.unknown()).superRefine((value, context) => {
    const problem = jsonProblem(value, bounds)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  })

const jsonProblem = (value: unknown, { bytes, depth }: JsonBounds) => {
  if (isDeeperThan(depth, value)) return `expected at most ${depth} levels`
  if (jsonBytes(value) > bytes) return `expected at most ${bytes} bytes of JSON`
  if (!isAllStorable(value))
    return 'expected finite numbers, and text without NUL, lone surrogates and the key __proto__'
}
/** What is wrong with metadata that a change has made. */
export const customProblem = (value: object) => jsonProblem(value, limits.customData)

const jsonBytes = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).length + digitsLeftOut(value)
/** JSON may say 1e308; the database writes and reads 309 digits. */
const digitsLeftOut = (value: unknown): number => {
  if (typeof value === 'number') return Number(/e[+-](\d+)$/.exec(String(value))?.[1] ?? 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + digitsLeftOut(inner), 0)
}
const isAllStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(
    ([key, inner]) => key !== '__proto__' && isStorable(key) && isAllStorable(inner),
  )
}
const isDeeperThan = (levels: number, value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((inner) => isDeeperThan(levels - 1, inner))
}
