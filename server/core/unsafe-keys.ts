import { isObject } from './json-text.ts'

/**
 * Whether valid JSON has the key `__proto__`, or `constructor` for an object with the key
 * `prototype`, which no body of a request may have: assignments take them for more than data.
 * Schemas do not see the former, since they leave it out. `parsed` is its value, if it was parsed.
 */
export function hasUnsafeKeys(json: string, parsed?: unknown) {
  if (!SUSPICIOUS.test(json)) return false
  const rest: unknown[] = [parsed ?? JSON.parse(json)]
  // No recursion: a line may have a hundred thousand levels.
  while (rest.length > 0) {
    const value = rest.pop()
    if (!isObject(value)) continue
    for (const [key, inner] of Object.entries(value)) {
      if (isUnsafeKey(key, inner)) return true
      rest.push(inner)
    }
  }
  return false
}
/** Leaves these keys out of JSON that is parsed. */
export const withoutUnsafeKeys = (key: string, value: unknown) =>
  isUnsafeKey(key, value) ? undefined : value

const isUnsafeKey = (key: string, value: unknown) =>
  key === '__proto__' ||
  (key === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype'))

/** How error messages name the unsafe keys. */
export const UNSAFE_KEYS = 'the keys __proto__ and constructor.prototype'

/** Matches JSON that may have an unsafe key, written plainly or with escaped letters. */
const SUSPICIOUS = /__proto__|"constructor"|\\u00(?:5f|6[3ef]|7[0-5])/i
