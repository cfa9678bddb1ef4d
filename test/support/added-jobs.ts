import type { runJob } from '@parley/server/jobs/run-job'
import type { JobBatch } from '@parley/server/jobs/tasks'

export type JobHelpers = Parameters<typeof runJob>[1]['helpers']
/** A job that a run of another one adds to the queue. */
type Added = {
  task: string
  batch: JobBatch
  queueName: string | null
  pauseMs: number
  maxAttempts: number
  round: number
}
type Values = [string, string, string | null, number, number, number]

/**
 * Records the jobs that are added to the queue. The first `failures` statements that add one fail.
 */
export function recordAddedJobs({ failures = 0, failure = new Error('no room') } = {}) {
  const added: Added[] = []
  let left = failures
  const query = async (statement: string, values: unknown[]) => {
    const isAddition = statement.includes('run_at')
    if (isAddition && left > 0) {
      left -= 1
      throw failure
    }
    // The parameters of the statement.
    const [task, batch, queueName, pauseMs, maxAttempts, round] = values as Values
    if (isAddition)
      added.push({ task, batch: JSON.parse(batch), queueName, pauseMs, maxAttempts, round })
    return { rows: [] }
  }
  return { added, query }
}
