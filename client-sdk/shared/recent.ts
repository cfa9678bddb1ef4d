/** The last ids that were added; `onForgotten` gets those beyond the limit. */
export function createRecent(limit: number, onForgotten: (id: string) => void) {
  const ids = new Set<string>()
  return {
    add: (id: string) => {
      ids.delete(id)
      ids.add(id)
      for (const oldest of ids) {
        if (ids.size <= limit) break
        ids.delete(oldest)
        onForgotten(oldest)
      }
    },
  }
}
