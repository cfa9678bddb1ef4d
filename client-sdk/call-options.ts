/** What a single call may be given beside its arguments. */
export type CallOptions = {
  /** Ends the call early: it rejects with a ChatError `ABORTED`. */
  signal?: AbortSignal | undefined
  /** How long to wait for the answer, in milliseconds; 15,000 by default. Later it is a ChatError `TIMEOUT`. */
  timeoutMs?: number | undefined
}
