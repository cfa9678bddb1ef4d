/**
 * Runs so many works at once; the others wait. Apps take turns, and each app's works are in their
 * order, so one with many keeps no other waiting for more than one that has not begun.
 */
export function createTurns(atOnce: number) {
  /** The works that wait, by app. The app whose turn is next is first. */
  const waiting = new Map<string, (() => Promise<void>)[]>()
  let running = 0

  const fill = () => {
    for (const [appId, works] of waiting) {
      if (running >= atOnce) return
      const run = works.shift()
      waiting.delete(appId)
      // The loop comes by again.
      if (works.length > 0) waiting.set(appId, works)
      if (!run) continue
      running += 1
      void run().finally(() => {
        running -= 1
        fill()
      })
    }
  }
  return <T>(appId: string, work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const works = waiting.get(appId) ?? []
      works.push(() => work().then(resolve, reject))
      waiting.set(appId, works)
      fill()
    })
}
