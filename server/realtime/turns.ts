/**
 * Runs at most `atOnce` tasks at once. Apps take turns, and the tasks of an app run in order, so an
 * app with many delays each other app by at most one task that has not begun.
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
      // Appended again: this app's next turn comes after those of the others.
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
