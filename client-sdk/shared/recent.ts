/** The last ids that were added; `onForgotten` gets those beyond the limit. */
export function createRecent(limit: number, onForgotten: (id: string) => void) {
  const ids = new Set<string>()
  return {
    add: (id: string) => {
      ids.delete(id)
      ids.add(id)
      const [oldest] = ids
      if (oldest === undefined || ids.size <= limit) return
      ids.delete(oldest)
      onForgotten(oldest)
    },
  }
}
