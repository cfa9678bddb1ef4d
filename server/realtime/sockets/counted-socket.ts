import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { UserRef } from '../../core/user-ref.ts'
import { Credit } from '../credit.ts'
import { closings } from '../protocol/codes.ts'
import { StreamSocket } from './stream-socket.ts'

type SendArguments = Parameters<WebSocket['send']>
type TcpSocket = Pick<Socket, 'bytesRead' | 'removeAllListeners' | 'resume' | 'end'>

/** The receiver of a socket reads on while `_loop` is true. */
type WithReceiver = { _receiver: { _loop: boolean } | null }

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
  #tcp: TcpSocket | undefined
  /** How many bytes had been read when the last message ended. */
  #bytesAtEnd = 0
  /** The credit for pings and pongs, made with the first one: few clients send any. */
  #credit: Credit | undefined

  /** Sets the connection below the socket, which counts the bytes that are read. */
  readsFrom(tcp: TcpSocket) {
    this.#tcp = tcp
    this.#bytesAtEnd = tcp.bytesRead
  }

  /**
   * How many bytes have arrived since the last complete message. Pings between the parts of a
   * message count as well: each part keeps the whole chunk that it came in in memory.
   */
  get unfinishedBytes() {
    return this.#bytesRead - this.#bytesAtEnd
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
      this.#bytesAtEnd = this.#bytesRead
    }
    if (event === 'ping' || event === 'pong') this.#pay()
    return super.emit(event, ...args)
  }

  own(user: UserRef) {
    this.user = user
    this.onOwned()
  }

  override close(code?: number, reason?: string | Buffer) {
    if (this.readyState === this.OPEN) this.closedWith = code
    super.close(code, reason)
    this.#readNoMore()
  }

  override terminate() {
    super.terminate()
    this.#readNoMore()
  }

  get #bytesRead() {
    return this.#tcp?.bytesRead ?? 0
  }

  /** Pays for a ping or a pong. These are no commands, and `ws` accepts any number of them. */
  #pay() {
    this.#credit ??= new Credit()
    this.#credit.take()
    const { code, reason } = closings.tooManyRequests
    if (this.#credit.isUsedUp) this.close(code, reason)
  }

  /**
   * Drops the frames that have come and will come, unparsed: of those that are parsed, a closed
   * socket takes thousands in a turn of the event loop. As the client's own close is among them,
   * the connection ends on this side, which every client takes for the end.
   */
  #readNoMore() {
    const { _receiver } = this as unknown as WithReceiver // not in the types of `ws`
    if (_receiver) _receiver._loop = false
    this.#tcp?.removeAllListeners('data').resume().end()
  }
}

/** Frees the request of a socket once it is answered: the plugin's listener retains it. */
export function forgetRequest(socket: WebSocket) {
  socket.removeAllListeners('error')
  socket.on('error', ignore)
}
const ignore = () => {}

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
