/** How often and how long background work waits, in milliseconds. Tests shorten these. */
export const timings = {
  /**
   * How long to wait after a commit before draining, so that jobs staged close together share one
   * drain.
   */
  gatherMs: 200,
  /** How often to look for jobs staged by other processes, and for jobs that are due. */
  pollMs: 1_000,
  /** The pause before the first retry. It doubles with each retry, up to 600 times this. */
  backOffMs: 1_000,
  /** How often the cleanup runs, in one of the processes that run jobs. */
  cleanupMs: 60_000,
  /** The interval between heartbeats. A worker that misses three counts as dead. */
  heartbeatMs: 10_000,
  /** After this time without any worker, a process with JOBS=external says that one is missing. */
  workerMissingMs: 60_000,
  /** A queue that has not fetched for this long, while the database answers, is restarted. */
  stalledMs: 15_000,
  /** How long a job may take. A provider that is slow, but not too slow, needs some minutes. */
  jobMs: 600_000,
  /** How long jobs in progress may continue once the process stops, or their time is over. */
  graceMs: 3_000,
  /** How far a pass over the log of events looks back for those that were committed late. */
  webhookOverlapMs: 3_000,
  /** How often a pass looks back as far as an event may have been missed. */
  webhookSweepMs: 30_000,
  /** How long a worker may send the deliveries of a webhook before another one may. */
  webhookLeaseMs: 60_000,
  /** How long a replay may read before the deliveries that it has made are sent. */
  webhookReplayMs: 5_000,
  /** How long the push provider may take to answer. */
  pushTimeoutMs: 10_000,
  /** How long a receiver may take to answer. */
  webhookTimeoutMs: 10_000,
}
export type Timings = typeof timings
