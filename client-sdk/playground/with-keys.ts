/** Parts of a text, which have no ids, with their indexes as keys. */
export const withKeys = <Part>(parts: readonly Part[]) =>
  parts.map((part, index) => [String(index), part] as const)
