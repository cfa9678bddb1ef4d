type ScheduledWork = {
  work: () => Promise<unknown>
  /** The problem to report when the work fails. */
  problem: string
}

/** Runs work at intervals, never twice at once. */
export function createSchedule(report: (error: unknown, problem: string) => void) {
  const timers: NodeJS.Timeout[] = []
  const every = (milliseconds: number, { work, problem }: ScheduledWork) => {
    let isRunning = false
    const run = async () => {
      if (isRunning) return
      isRunning = true
      try {
        await work()
      } catch (error) {
        report(error, problem)
      }
      isRunning = false
    }
    timers.push(setInterval(run, milliseconds))
  }
  const stop = () => {
    for (const timer of timers) clearInterval(timer)
  }
  return { every, stop }
}

/** Work that never runs twice at once: calls during a run are served together, by one after it. */
export function oneAtATime(work: () => Promise<unknown>) {
  let isRunning = false
  let isDue = false
  return async () => {
    isDue = true
    if (isRunning) return
    isRunning = true
    try {
      while (isDue) {
        isDue = false
        await work()
      }
    } finally {
      isRunning = false
    }
  }
}

/** Work that never runs twice at once: a call during a run begins one of its own after it. */
export function inTurn(work: () => Promise<unknown>) {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    last = last.then(work, work)
    return last
  }
}
