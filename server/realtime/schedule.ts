type ScheduledWork = {
  work: () => Promise<unknown>
  /** What is reported when the work fails. */
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
