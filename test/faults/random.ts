export type Random = ReturnType<typeof createRandom>

/** Repeatable choices (mulberry32): the same seed makes the same ones. */
export function createRandom(seed: number) {
  let state = seed
  const fraction = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (from: number, to: number) => from + Math.floor(fraction() * (to - from + 1))
  return {
    fraction,
    /** A whole number, both ends included. */
    between,
    pick: <T>(items: readonly T[]): T => {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('there is nothing to pick from')
      return item
    },
    /** Another sequence, which this one determines. */
    fork: () => createRandom(between(0, 2 ** 31)),
  }
}
