import { limits } from '@parley/contract'

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * A schema as generators understand it best. Drops `additionalProperties: false` (responses may
 * gain fields), patterns next to a format (which says more), and the bounds of JavaScript's
 * integers. Says of integers how many bits they need. A scalar that may be null has two types: as
 * `anyOf`, some generators take an equal scalar elsewhere for nullable too.
 */
export function simplifySchema(given: Record<string, unknown>): Record<string, unknown> {
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
