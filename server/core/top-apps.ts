import { Gauge, type Registry } from 'prom-client'

/** How many apps are shown: a series for each of thousands would cost more than it is worth. */
const SHOWN = 10
/** How many are counted. Those that come later in a minute are not. */
const MOST_COUNTED = 10_000
const MINUTE_MS = 60_000

/**
 * Counts calls by app, and shows the ten apps with the most of them in the last full minute.
 * Returns the function that counts.
 */
export function countTopApps(
  registry: Registry,
  { name, help, windowMs = MINUTE_MS }: { name: string; help: string; windowMs?: number },
) {
  let current = new Map<string, number>()
  let last = new Map<string, number>()
  let startedAt = performance.now()
  const turn = () => {
    const windows = Math.floor((performance.now() - startedAt) / windowMs)
    if (windows === 0) return
    last = windows === 1 ? current : new Map()
    current = new Map()
    startedAt += windows * windowMs
  }
  new Gauge({
    name,
    help,
    labelNames: ['app'] as const,
    registers: [registry],
    collect() {
      turn()
      this.reset()
      const top = [...last].sort(([, a], [, b]) => b - a).slice(0, SHOWN)
      for (const [app, count] of top) this.set({ app }, count)
    },
  })
  return (app: string) => {
    turn()
    const count = current.get(app)
    if (count !== undefined || current.size < MOST_COUNTED) current.set(app, (count ?? 0) + 1)
  }
}
