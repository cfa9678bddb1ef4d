const MAX_RETRY_AFTER_SECONDS = 600

/** Reads `Retry-After`, in seconds or as a date, up to MAX_RETRY_AFTER_SECONDS. */
export function secondsUntil(retryAfter: string | null) {
  if (retryAfter === null) return 0
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1000
  if (!Number.isFinite(seconds)) return 0
  return Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS)
}
