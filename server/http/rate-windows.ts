/** What a caller has used of a window, which ends at `endsAt` of the monotonic clock. */
export type RateWindow = { used: number; endsAt: number }

/**
 * Fixed windows, each from the first look at its key. A clock that is set moves none of them.
 */
export function createRateWindows(seconds: number) {
  // All last equally long, so they end in the order in which they are here.
  const open = new Map<string, RateWindow>()
  const dropEnded = (now: number) => {
    for (const [key, { endsAt }] of open) {
      if (endsAt > now) return
      open.delete(key)
    }
  }
  /** The window of a key. What is used of it later counts in no other. */
  return (key: string): RateWindow => {
    const now = performance.now()
    dropEnded(now)
    const window = open.get(key) ?? { used: 0, endsAt: now + 1_000 * seconds }
    open.set(key, window)
    return window
  }
}

/** In whole seconds, after which the window is over. */
export const secondsLeft = ({ endsAt }: RateWindow) =>
  Math.max(1, Math.ceil((endsAt - performance.now()) / 1_000))
