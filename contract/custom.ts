import { z } from 'zod'
import { byteLength, isStorable } from './fields.ts'
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

type JsonObject = z.ZodRecord<z.ZodString, z.ZodUnknown>
type JsonObjectDef = JsonObject['_zod']['def'] & { bounds: JsonBounds }
/** A record whose bounds are checked before its keys, of which a body may have thousands. */
const BoundedRecord = z.core.$constructor<JsonObject, JsonObjectDef>(
  'BoundedRecord',
  (made, def) => {
    z.ZodRecord.init(made, def)
    const { parse } = made._zod
    made._zod.parse = (payload, context) => {
      const message = jsonProblem(payload.value, def.bounds)
      if (message === undefined) return parse(payload, context)
      payload.issues.push({ code: 'custom', message, input: payload.value, inst: made })
      return payload
    }
  },
)
const jsonObject = (bounds: JsonBounds) =>
  new BoundedRecord({ type: 'record', keyType: z.string(), valueType: z.unknown(), bounds })

const jsonProblem = (value: unknown, { bytes, depth }: JsonBounds) => {
  const tooLong = `expected at most ${bytes} bytes of JSON`
  if (hasMoreThan(bytes / LEAST_BYTES, { value, depth })) return tooLong
  if (isDeeperThan(depth, value)) return `expected at most ${depth} levels`
  if (jsonBytes(value) > bytes) return tooLong
  if (!isAllStorable(value))
    return 'expected finite numbers, and text without NUL, lone surrogates and the key __proto__'
}
/** A digit and a comma. */
const LEAST_BYTES = 2
type Nested = { value: unknown; depth: number }
/** Whether there are more values than this, down to a depth; the rest is not looked at. */
function hasMoreThan(most: number, { value, depth }: Nested) {
  let left = most
  const count = (inner: unknown, levels: number) => {
    left -= 1
    if (typeof inner !== 'object' || inner === null || levels === 0 || left < 0) return
    if (Object.keys(inner).length > left) {
      left = -1
      return
    }
    for (const each of Object.values(inner)) count(each, levels - 1)
  }
  count(value, depth)
  return left < 0
}
/** The problem of metadata that a change has made. */
export const customProblem = (value: object) => jsonProblem(value, limits.customData)

const jsonBytes = (value: unknown) => byteLength(JSON.stringify(value)) + digitsLeftOut(value)
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
