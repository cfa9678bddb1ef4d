import { copyOf } from '../core/copy-of.ts'

/** A caller's use of a window, which ends at `endsAt` of the monotonic clock. */
export type RateWindow = { used: number; endsAt: number }

/**
 * Fixed windows, each beginning with the first call of its key. Setting the wall clock moves none.
 */
export function createRateWindows(seconds: number) {
  // In the order in which they end, since all last equally long.
  const open = new Map<string, RateWindow>()
  const dropEnded = (now: number) => {
    for (const [key, { endsAt }] of open) {
      if (endsAt > now) return
      open.delete(key)
    }
  }
  /** The current window of a key. Later uses of this object never count in the next window. */
  return (key: string): RateWindow => {
    const now = performance.now()
    dropEnded(now)
    const known = open.get(key)
    if (known) return known
    const window = { used: 0, endsAt: now + 1_000 * seconds }
    open.set(copyOf(key), window)
    return window
  }
}

/** Whole seconds until the window is over, rounded up. */
export const secondsLeft = ({ endsAt }: RateWindow) =>
  Math.max(1, Math.ceil((endsAt - performance.now()) / 1_000))
