export function copyOf(text: string): string
export function copyOf(text: string | undefined): string | undefined
/**
 * A copy of a string that outlives its request. V8 keeps the whole string in memory that a part was
 * cut out of: for an id the URL of its request, for an address the header of a proxy.
 */
export function copyOf(text: string | undefined) {
  return text === undefined ? undefined : Buffer.from(text).toString()
}
