import type { Metrics } from '../../core/metrics.ts'
import type { Transport } from './transport.ts'

type SendMemoryOptions = {
  /** How many bytes of frames this node may keep for its sockets. */
  mostBytes: number
  metrics: Pick<Metrics, 'sendMemory' | 'socketsCut' | 'slowConsumers'>
  sockets: () => Iterable<Transport>
}
/** A frame, with how many sockets have not written it yet. */
type Unwritten = { frame: Buffer; sockets: number; written: () => void }

/**
 * Sends frames and bounds the memory of those not written yet, each counted once however many
 * sockets share it. When they take too much, the sockets with the most unread bytes are cut.
 */
export class SendMemory {
  readonly #unwritten = new Map<Buffer, Unwritten>()
  #last: Unwritten | undefined
  #bytes = 0
  #willCut = false

  constructor(readonly options: SendMemoryOptions) {
    // From 0: a counter that first appears with a burst shows no increase.
    for (const reason of ['unread', 'memory']) options.metrics.slowConsumers.inc({ reason }, 0)
  }

  send(socket: Transport, frame: Buffer, { isBinary }: { isBinary: boolean }) {
    const unwritten = this.#last?.frame === frame ? this.#last : this.#find(frame)
    this.#last = unwritten
    if (unwritten.sockets === 0) this.#add(unwritten)
    unwritten.sockets += 1
    socket.send(frame, { binary: isBinary }, unwritten.written)
    if (this.#bytes <= this.options.mostBytes || this.#willCut) return
    this.#willCut = true
    // After this turn the operating system has taken what it can.
    setImmediate(() => this.#cut())
  }

  #find(frame: Buffer): Unwritten {
    const known = this.#unwritten.get(frame)
    if (known) return known
    const written = () => {
      unwritten.sockets -= 1
      if (unwritten.sockets === 0) this.#release(unwritten)
    }
    const unwritten = { frame, sockets: 0, written }
    return unwritten
  }

  #add(unwritten: Unwritten) {
    this.#unwritten.set(unwritten.frame, unwritten)
    this.#count(unwritten.frame.length)
  }

  #release(unwritten: Unwritten) {
    this.#unwritten.delete(unwritten.frame)
    if (this.#last === unwritten) this.#last = undefined
    this.#count(-unwritten.frame.length)
  }

  #count(bytes: number) {
    this.#bytes += bytes
    this.options.metrics.sendMemory.set(this.#bytes)
  }

  #cut() {
    this.#willCut = false
    let excess = this.#bytes - this.options.mostBytes
    if (excess <= 0) return
    const sockets = [...this.options.sockets()].sort(byUnread)
    for (const socket of sockets) {
      if (excess <= 0 || socket.bufferedAmount === 0) return
      excess -= socket.bufferedAmount
      socket.terminate()
      this.options.metrics.socketsCut.inc()
      this.options.metrics.slowConsumers.inc({ reason: 'memory' })
    }
  }
}

const byUnread = (a: Transport, b: Transport) => b.bufferedAmount - a.bufferedAmount
