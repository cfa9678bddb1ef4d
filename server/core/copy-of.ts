export function copyOf(text: string): string
export function copyOf(text: string | undefined): string | undefined
/**
 * A string that was cut out of another keeps all of that in memory: an id the URL of its request,
 * an address the header of a proxy. A copy does not, so what outlives its request is one.
 */
export function copyOf(text: string | undefined) {
  return text === undefined ? undefined : Buffer.from(text).toString()
}
