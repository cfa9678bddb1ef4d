import { isObject, isRecord } from '../../core/json-text.ts'
import type { Entity } from './entities.ts'

/** Reads fields of entities whose shape is not guaranteed. */

export const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value : undefined
export const listOf = (value: unknown): Entity[] =>
  Array.isArray(value) ? value.filter(isObject) : []
export const objectOf = (value: unknown): Entity => (isRecord(value) ? (value as Entity) : {})
/** A time as text, or as a Unix time in seconds or milliseconds; undefined if it is no time. */
export const timeOf = (value: unknown) => {
  const time = typeof value === 'string' ? Date.parse(value) : unixTimeOf(value)
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
const unixTimeOf = (value: unknown) => {
  if (typeof value !== 'number' || value <= 0) return Number.NaN
  return value < LATEST_IN_SECONDS ? value * 1_000 : value
}
const LATEST_IN_SECONDS = 100_000_000_000

/** The fields that are not among the known ones, to be kept as metadata. */
export function customOf(entity: Entity, known: readonly string[]) {
  const rest = Object.entries(entity).filter(
    ([name, value]) => !known.includes(name) && value !== null && value !== '',
  )
  return rest.length === 0 ? {} : { custom: Object.fromEntries(rest) }
}

/** Only the fields that have a value. */
export const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
