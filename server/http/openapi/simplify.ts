import { limits } from '@parley/contract'
import { isRecord } from '../../core/json-text.ts'

/** For JSON.parse: simplifies each schema of a document. */
export const simplifySchemas = (_: string, value: unknown) =>
  isRecord(value) ? simplifySchema(value) : value

/**
 * A schema as generators understand it best. Drops `additionalProperties: false` (responses may
 * gain fields), patterns next to a format (which says more), and the bounds of JavaScript's
 * integers. Says of integers how many bits they need. A scalar that may be null has two types: as
 * `anyOf`, some generators take an equal scalar elsewhere for nullable too.
 */
function simplifySchema(given: Record<string, unknown>): Record<string, unknown> {
  const { additionalProperties, pattern, minimum, maximum, ...schema } = orNull(given)
  return {
    ...schema,
    ...(isInteger(schema) && { format: isSmall(maximum) ? 'int32' : 'int64' }),
    ...(additionalProperties !== undefined &&
      additionalProperties !== false && { additionalProperties }),
    ...(pattern !== undefined && typeof schema.format !== 'string' && { pattern }),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  }
}

function orNull({ anyOf, ...schema }: Record<string, unknown>): Record<string, unknown> {
  const [value, other] = Array.isArray(anyOf) ? anyOf : []
  const isSimple =
    isRecord(value) && isRecord(other) && other.type === 'null' && typeof value.type === 'string'
  if (!isSimple || 'enum' in value || 'properties' in value)
    return anyOf ? { ...schema, anyOf } : schema
  return { ...value, ...schema, type: [value.type, 'null'] }
}

const isInteger = ({ type }: Record<string, unknown>) => [type].flat().includes('integer')
const isSmall = (maximum: unknown) =>
  typeof maximum === 'number' && maximum <= limits.largestInteger
