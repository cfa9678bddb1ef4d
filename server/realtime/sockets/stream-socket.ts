import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { UserRef } from '../../core/user-ref.ts'
import type { Codec } from '../protocol/codec.ts'
import type { Transport, TransportName } from './transport.ts'

/** The close code reported for a socket without close codes. */
const NO_CODE = 1005

type StreamSocketOptions = {
  response: ServerResponse
  codec: Codec
  transport: TransportName
  sessionId: string
}

/**
 * The connection of a client whose network blocks WebSockets: it receives a response that does not
 * end, and sends its commands in requests of their own.
 */
export class StreamSocket extends EventEmitter implements Transport {
  readonly sessionId: string
  readonly transport: TransportName
  readonly openedAt = performance.now()
  framesSent = 0
  framesReceived = 0
  closedWith: number | undefined
  user: UserRef | undefined
  /** Called once the user is known. */
  onOwned = () => {}
  readonly #response: ServerResponse
  readonly #codec: Codec
  readonly #unwritten = new Set<() => void>()

  constructor({ response, codec, transport, sessionId }: StreamSocketOptions) {
    super()
    this.#response = response
    this.#codec = codec
    this.transport = transport
    this.sessionId = sessionId
    response.on('error', () => {})
    response.once('close', () => {
      for (const written of [...this.#unwritten]) written()
      this.emit('close', NO_CODE)
    })
  }

  own(user: UserRef) {
    this.user = user
    this.onOwned()
  }

  /** Notes commands that have arrived, in a request of their own or in that of the response. */
  received(frame: Buffer) {
    this.framesReceived += 1
    this.emit('data', frame)
  }

  get bufferedAmount() {
    return this.#response.writableLength
  }

  send(frame: Buffer, _: unknown, written = () => {}) {
    this.framesSent += 1
    const settle = () => {
      if (this.#unwritten.delete(settle)) written()
    }
    this.#unwritten.add(settle)
    this.#response.write(frame, settle)
    if (this.#response.destroyed) settle()
  }

  /** Ends the response with a push that has the code. */
  close(code: number, reason: string) {
    if (this.closedWith !== undefined) return
    this.closedWith = code
    this.#response.end(this.#codec.encodeDisconnect({ code, reason }))
  }

  terminate() {
    this.#response.destroy()
  }
}
