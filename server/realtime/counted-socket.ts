import { WebSocket } from 'ws'
import type { UserRef } from '../core/user-ref.ts'
import { StreamSocket } from './stream-socket.ts'

type SendArguments = Parameters<WebSocket['send']>

/**
 * A WebSocket that collects what its log line will say, and knows how much of a frame has arrived.
 */
export class CountedSocket extends WebSocket {
  readonly transport = 'websocket'
  framesSent = 0
  framesReceived = 0
  /** The code with which this side closed it. */
  closedWith: number | undefined
  /** The user whom a token of ours names, even if it was refused: for the log. */
  user: UserRef | undefined
  /** Called once the user is known. */
  onOwned = () => {}
  readonly openedAt = performance.now()
  #stream = { bytesRead: 0 }
  /** How many bytes had been read when the last message ended. */
  #bytesAtEnd = 0

  /** Its connection, which counts what is read. */
  readsFrom(stream: { bytesRead: number }) {
    this.#stream = stream
    this.#bytesAtEnd = stream.bytesRead
  }

  /**
   * How many bytes have arrived since the last complete message. Pings between the parts of a
   * message count as well: each part keeps the whole chunk that it came in in memory.
   */
  get unfinishedBytes() {
    return this.#stream.bytesRead - this.#bytesAtEnd
  }

  override send(
    data: SendArguments[0],
    options?: SendArguments[1] | SendArguments[2],
    done?: SendArguments[2],
  ) {
    this.framesSent += 1
    super.send(data, options as SendArguments[1], done) // either, as ws accepts them
  }

  override emit(event: string, ...args: unknown[]) {
    if (event === 'message') {
      this.framesReceived += 1
      this.#bytesAtEnd = this.#stream.bytesRead
    }
    return super.emit(event, ...args)
  }

  own(user: UserRef) {
    this.user = user
    this.onOwned()
  }

  override close(code?: number, reason?: string | Buffer) {
    if (this.readyState === this.OPEN) this.closedWith = code
    super.close(code, reason)
  }
}

/** Notes the user of a socket, whose token is good. */
export function identify(socket: object, { appId, userId }: UserRef) {
  if (isCounted(socket)) socket.own({ appId, userId })
}

/** Notes the user of a socket that is refused. */
export function nameRefused(socket: object, user: UserRef | undefined) {
  if (user && isCounted(socket)) socket.user = { appId: user.appId, userId: user.userId }
}

const isCounted = (socket: object): socket is CountedSocket | StreamSocket =>
  socket instanceof CountedSocket || socket instanceof StreamSocket
