const MAX_RETRY_AFTER_SECONDS = 600

/**
 * Reads `Retry-After`, in seconds or as a date, up to MAX_RETRY_AFTER_SECONDS. A date is compared
 * with that of the answer, since both are by the clock of who answered. Without one, with ours.
 */
export function secondsUntil(retryAfter: string | undefined, date: string | undefined) {
  if (retryAfter === undefined) return 0
  const now = Date.parse(date ?? '') || Date.now()
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - now) / 1000
  if (!Number.isFinite(seconds)) return 0
  return Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS)
}
