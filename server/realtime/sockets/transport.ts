/** Carries the frames of a connection: a WebSocket, or a response that does not end. */
export interface Transport {
  /**
   * The id with which clients without a WebSocket send commands. Whoever has it acts as the
   * connection.
   */
  readonly sessionId?: string
  /** The bytes that were sent and are not written yet. */
  readonly bufferedAmount: number
  /** Calls `written` once the frame is written, or cannot be. */
  send(frame: Buffer, options: { binary: boolean }, written?: () => void): void
  close(code: number, reason: string): void
  terminate(): void
  once(event: 'close', listener: () => void): unknown
}

export const transportNames = ['websocket', 'http_stream', 'sse'] as const
export type TransportName = (typeof transportNames)[number]
