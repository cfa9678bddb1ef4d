/** Counts the work that is under way for each key: at most so much at once. */
export function createPlaces(most: number) {
  const taken = new Map<string, number>()
  const countOf = (key: string) => taken.get(key) ?? 0

  return {
    hasRoom: (key: string) => countOf(key) < most,
    /** Does work in a place of the key. */
    use: async <T>(key: string, work: () => Promise<T>) => {
      taken.set(key, countOf(key) + 1)
      try {
        return await work()
      } finally {
        const left = countOf(key) - 1
        if (left === 0) taken.delete(key)
        else taken.set(key, left)
      }
    },
  }
}
