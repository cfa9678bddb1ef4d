/** Options of a single call. */
export type CallOptions = {
  /** Aborts the call: it rejects with a ChatError `ABORTED`. */
  signal?: AbortSignal | undefined
  /**
   * How long to wait for the response, in milliseconds; 15,000 by default, and with `Infinity`, or
   * more than a timer takes (24 days), without an end. The token and pauses between attempts count.
   * After that the call rejects with a ChatError `TIMEOUT`, or if another attempt would come too
   * late, at once with the error of the last one.
   */
  timeoutMs?: number | undefined
}
