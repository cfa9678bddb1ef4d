/** The clocks of jobs, in milliseconds. Tests shorten them. */
export const timings = {
  /** Promises of the same moment travel together. */
  gatherMs: 200,
  /** So often we look for what others have promised, and for jobs that are due. */
  pollMs: 1_000,
  /** The pause before a job that was put off is tried again; it doubles each time, up to sixty times this. */
  backOffMs: 1_000,
  /** A worker that has not been heard of for three beats is dead. */
  beatMs: 10_000,
  /** So long the jobs in progress may go on in a process that stops. */
  graceMs: 3_000,
}
export type Timings = typeof timings
