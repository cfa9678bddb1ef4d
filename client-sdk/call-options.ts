/** Options of a single call. */
export type CallOptions = {
  /** Aborts the call: it rejects with a ChatError `ABORTED`. */
  signal?: AbortSignal | undefined
  /**
   * How long to wait for the response, in milliseconds; 15,000 by default. After that the call
   * rejects with a ChatError `TIMEOUT`.
   */
  timeoutMs?: number | undefined
}
