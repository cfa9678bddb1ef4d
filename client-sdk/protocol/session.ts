import { createRetries } from '../calls/retry.ts'
import { LONGEST_TIMER_MS } from '../shared/timing.ts'
import {
  type Command,
  type ConnectResult,
  type Expiry,
  isFinalCode,
  type ProtocolError,
  type Push,
  parseFrame,
  type Reply,
} from './messages.ts'
import type { Socket } from './transports.ts'

/** Why a session ended. `isFinal`: with the same token the next one would end the same way. */
type SessionEnd = { reason: string; isFinal: boolean }
type SessionOptions = {
  /** Opens what carries the session. */
  openSocket: () => Socket
  token: string
  /** Gets a token to replace one that expires. */
  getToken: () => Promise<string>
  /**
   * Called when commands can be sent. Those sent at once share a frame with the connect command.
   */
  onOpen: () => void
  /** Called when the server has accepted the token. */
  onConnected: () => void
  onPush: (push: Push) => void
  /** Called once, unless `close()` was called before. */
  onEnd: (end: SessionEnd) => void
}
type PendingCommand = { settle: (reply: Reply) => void; stopWaiting: () => void }

/** How long a working server takes at most to open the socket, and to reply to a command. */
const REPLY_TIMEOUT_MS = 5_000
/** How much later than announced a ping may arrive. */
const PING_GRACE_MS = 10_000

/**
 * One socket, from its opening to its end. It never reconnects: the next attempt is another
 * session.
 */
export class Session {
  #socket: Socket | undefined
  #hasEnded = false
  #lastId = 0
  /** Commands of this tick: they are sent in one frame. */
  #frame: Command[] = []
  readonly #pending = new Map<number, PendingCommand>()
  #heartbeat: Pick<ConnectResult, 'ping' | 'pong'> = {}
  #stopWatching = () => {}
  #refreshTimer: ReturnType<typeof setTimeout> | undefined
  readonly #refreshRetries = createRetries(() => this.#refresh())

  constructor(readonly options: SessionOptions) {}

  begin() {
    const { token, onOpen } = this.options
    this.#stopWatching = watchdog(REPLY_TIMEOUT_MS, () => this.fail('the socket did not open'))
    try {
      const socket = this.options.openSocket()
      this.#socket = socket
      socket.onopen = () => {
        if (this.#hasEnded) return socket.close()
        this.#stopWatching()
        const connect = { token, name: 'parley' }
        this.call({ connect }, (reply) => this.#handleConnected(reply))
        onOpen()
      }
      socket.onmessage = ({ data }: { data: string }) => this.#receive(data)
      // The close event follows. Without a listener, `ws` would throw the error.
      socket.onerror = () => {}
      socket.onclose = ({ code, reason }: { code: number; reason: string }) =>
        this.#end({ reason: reason || 'the socket was closed', isFinal: isFinalCode(code) })
    } catch (error) {
      this.fail(String(error))
    }
  }

  /** Ends the session. Nothing is reported from now on, whatever the socket still does. */
  close() {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#stopWatching()
    clearTimeout(this.#refreshTimer)
    this.#refreshRetries.end()
    for (const { stopWaiting } of this.#pending.values()) stopWaiting()
    this.#pending.clear()
    this.#socket?.close()
  }

  /** Sends a command. Its reply may be an error; without a reply in time the session ends. */
  call(command: Command, settle: (reply: Reply) => void = () => {}) {
    if (this.#hasEnded) return
    const id = ++this.#lastId
    const stopWaiting = watchdog(REPLY_TIMEOUT_MS, () => this.fail('no answer'))
    this.#pending.set(id, { settle, stopWaiting })
    this.#send({ id, ...command })
  }

  /** Ends the session after a failure that another socket may not have. */
  fail(reason: string) {
    this.#end({ reason, isFinal: false })
  }

  #end(end: SessionEnd) {
    if (this.#hasEnded) return
    this.close()
    this.options.onEnd(end)
  }

  #send(command: Command) {
    this.#frame.push(command)
    if (this.#frame.length === 1) queueMicrotask(() => this.#flush())
  }

  #flush() {
    const lines = this.#frame.splice(0).map((command) => JSON.stringify(command))
    if (!this.#hasEnded) this.#socket?.send(lines.join('\n'))
  }

  #receive(frame: string) {
    try {
      for (const message of parseFrame(frame)) {
        if (this.#hasEnded) return
        this.#awaitPing()
        this.#handle(message)
      }
    } catch (error) {
      this.fail(`message not handled: ${error}`)
    }
  }

  #handle(message: Reply) {
    const { id, push } = message
    if (push?.disconnect) {
      const { code, reason = 'the server disconnected' } = push.disconnect
      return this.#end({ reason, isFinal: isFinalCode(code) })
    }
    if (push) return this.options.onPush(push)
    if (id === undefined) return this.#heartbeat.pong && this.#send({})
    const command = this.#pending.get(id)
    this.#pending.delete(id)
    command?.stopWaiting()
    command?.settle(message)
  }

  #handleConnected({ error, connect = {} }: Reply) {
    if (error) return this.#handleRefusal(error)
    this.#heartbeat = connect
    this.#awaitPing()
    this.#refreshBeforeEnd(connect)
    this.options.onConnected()
  }

  #handleRefusal({ message = 'refused', temporary = false }: ProtocolError) {
    this.#end({ reason: message, isFinal: !temporary })
  }

  /** Any message of the server shows that the connection works. */
  #awaitPing() {
    const { ping } = this.#heartbeat
    if (!ping) return
    this.#stopWatching()
    this.#stopWatching = watchdog(ping * 1_000 + PING_GRACE_MS, () => this.fail('no ping'))
  }

  /**
   * Refreshing at the end is early enough, because the server accepts an expired token a while
   * longer.
   */
  #refreshBeforeEnd({ expires, ttl = 0 }: Expiry) {
    this.#refreshRetries.end()
    if (!expires) return
    const delayMs = Math.min(Math.max(ttl, 1) * 1_000, LONGEST_TIMER_MS)
    this.#refreshTimer = setTimeout(() => this.#refresh(), delayMs)
  }

  #refresh() {
    const retries = this.#refreshRetries
    const refresh = (token: string) =>
      this.call({ refresh: { token } }, ({ error, refresh = {} }) => {
        if (!error) this.#refreshBeforeEnd(refresh)
        else if (error.temporary) retries.later()
        else this.#handleRefusal(error)
      })
    this.options.getToken().then(refresh, () => {
      if (this.#hasEnded) return
      // The provider pauses by itself, and the server waits only a little longer.
      retries.end()
      retries.later()
    })
  }
}

/** A timer that is this late was delayed by a standstill of the whole process. */
const STANDSTILL_MS = 1_000

/**
 * Calls back after a while unless it is stopped. After a standstill, such as a laptop's sleep, it
 * waits a little longer: messages that have arrived are handled after the timers.
 */
function watchdog(ms: number, onTimeout: () => void): () => void {
  const due = performance.now() + ms
  let timer = setTimeout(() => {
    const isLate = performance.now() - due > STANDSTILL_MS
    timer = setTimeout(onTimeout, isLate ? STANDSTILL_MS : 0)
  }, ms)
  return () => clearTimeout(timer)
}
