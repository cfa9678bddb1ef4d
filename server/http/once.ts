/**
 * Calls `create` when its result is first needed, and keeps the result. A promise that rejects is
 * not kept, so the next call tries again.
 */
export function once<T>(create: () => T): () => T {
  let created: { result: T } | undefined
  return () => {
    if (created) return created.result
    const result = create()
    created = { result }
    if (result instanceof Promise)
      result.catch(() => {
        created = undefined
      })
    return result
  }
}
