/** Whether two JSON-like values are equal. An undefined field equals an absent one. */
export const isDeepEqual = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (isObject(a) && isObject(b) && hasEqualEntries(a, b, isDeepEqual))

/** Whether two objects or arrays hold the same values, compared by identity. */
export const isShallowEqual = (a: object, b: object) => hasEqualEntries(a, b, Object.is)

/**
 * `before` if `after` equals it: consumers that compare by identity, as React does, see no change.
 */
export const keepIfEqual = <T extends object>(
  before: T,
  after: T,
  isEqual: (a: T, b: T) => boolean = isShallowEqual,
): T => (before === after || isEqual(before, after) ? before : after)

/**
 * Computes a value from an immutable object and another argument: again only when that argument
 * changes.
 */
export function memoize<Source extends object, Result, Other = void>(
  compute: (source: Source, other: Other) => Result,
  isSame: (before: Other, other: Other) => boolean = Object.is,
) {
  const results = new WeakMap<Source, { other: Other; result: Result }>()
  return (source: Source, other: Other): Result => {
    const known = results.get(source)
    if (known && isSame(known.other, other)) return known.result
    const result = compute(source, other)
    results.set(source, { other, result })
    return result
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** From the end, where lists of messages differ first. */
function hasEqualItems(a: unknown[], b: unknown[], isEqual: (a: unknown, b: unknown) => boolean) {
  for (let index = a.length - 1; index >= 0; index--)
    if (a[index] !== b[index] && !isEqual(a[index], b[index])) return false
  return true
}

function hasEqualEntries(a: object, b: object, isEqual: (a: unknown, b: unknown) => boolean) {
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && hasEqualItems(a, b, isEqual)
    )
  const fields = Object.keys({ ...a, ...b }) as (keyof typeof a)[]
  return fields.every((field) => isEqual(a[field], b[field]))
}
