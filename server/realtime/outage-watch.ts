type OutageWatchOptions = {
  /** How long the database may be unreachable before clients are sent to another server. */
  outageMs: number
  /** A minimal query, sent when regular work has failed. */
  probe: () => Promise<unknown>
  onOutage: () => void
}

/** One attempt may fail because the process, and not the database, was stopped for a while. */
const LEAST_FAILURES = 2
const TICK_MS = 200
/** The most that a tick counts for: time in which the process was stopped is no outage. */
const LONGEST_TICK_MS = 1_000

/**
 * Detects an outage by the node's regular work with the database: for `outageMs` the work and the
 * probes have failed. The outage ends with the first that succeeds.
 */
export function createOutageWatch({ outageMs, probe, onOutage }: OutageWatchOptions) {
  /** How long this process has run since the database last worked. */
  let elapsedMs = 0
  let countedAt = performance.now()
  let failures = 0
  let isOutage = false
  let isProbing = false
  let timer: NodeJS.Timeout | undefined

  const succeeded = () => {
    elapsedMs = 0
    countedAt = performance.now()
    failures = 0
    isOutage = false
  }
  const check = () => {
    const now = performance.now()
    elapsedMs += Math.min(now - countedAt, LONGEST_TICK_MS)
    countedAt = now
    if (isOutage || failures < LEAST_FAILURES || elapsedMs < outageMs) return
    isOutage = true
    onOutage()
  }
  const failed = () => {
    failures += 1
  }
  const ask = async () => {
    if (isProbing) return
    isProbing = true
    await probe().then(succeeded, failed)
    isProbing = false
  }
  /** Runs work whose outcome shows whether the database can be reached. */
  const observe = async (work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      failed()
      void ask()
      throw error
    }
    succeeded()
  }
  return {
    observe,
    isOutage: () => isOutage,
    start: () => {
      countedAt = performance.now()
      timer = setInterval(check, TICK_MS)
    },
    stop: () => clearInterval(timer),
  }
}
