type OutageWatchOptions = {
  /** How long the database may be unreachable before clients are sent to another server. */
  outageMs: number
  onOutage: () => void
}

/** One attempt may fail because the process, and not the database, was stopped for a while. */
const LEAST_FAILURES = 2

/**
 * Detects an outage by the node's regular work with the database: it has failed for `outageMs`. The
 * outage ends with the first work that succeeds.
 */
export function createOutageWatch({ outageMs, onOutage }: OutageWatchOptions) {
  let workedAt = performance.now()
  let failures = 0
  let isOutage = false

  const succeeded = () => {
    workedAt = performance.now()
    failures = 0
    isOutage = false
  }
  const failed = () => {
    failures += 1
    const isShort = failures < LEAST_FAILURES || performance.now() - workedAt < outageMs
    if (isOutage || isShort) return
    isOutage = true
    onOutage()
  }
  /** Runs work whose outcome shows whether the database can be reached. */
  const observe = async (work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      failed()
      throw error
    }
    succeeded()
  }
  return { observe, isOutage: () => isOutage }
}
