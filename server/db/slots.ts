/**
 * A fixed number of slots, granted in the order in which they were requested. Waiting ends with an
 * error when `aborted` rejects.
 */
export function createSlots(count: number) {
  const waiting = new Set<() => void>()
  let free = count

  const release = () => {
    const [next] = waiting
    if (!next) {
      free += 1
      return
    }
    waiting.delete(next)
    next()
  }
  const acquire = async (aborted: Promise<never>) => {
    if (free > 0) {
      free -= 1
      return
    }
    let grant = () => {}
    const granted = new Promise<void>((resolve) => {
      grant = resolve
      waiting.add(grant)
    })
    try {
      await Promise.race([granted, aborted])
    } catch (error) {
      const wasGranted = !waiting.delete(grant)
      if (wasGranted) release()
      throw error
    }
  }
  return { acquire, release, waiting: () => waiting.size }
}
