import { emulationPath, endpointPath, streamPath } from '../generated/endpoints.ts'

/** The address of a WebSocket, with the server's in between. */
const ENDPOINT = new RegExp(`^ws(s?:.*)${endpointPath}$`)
/** How long a WebSocket that is tried may take to open. */
const OPEN_MS = 5_000
/** Commands that wait share a request of about this many characters. */
const REQUEST_CHARACTERS = 64 * 1024

/** Whether there is an address for streams that belongs to this one. */
export const canStream = (wsUrl: string) => ENDPOINT.test(wsUrl)

/** How long a client stays with a stream before it tries a WebSocket again. */
const RETRY_MS = 600_000

/** Tries now and then whether a WebSocket opens, until one does. Returns what ends that. */
export function tryLater(open: () => WebSocket, onOpen: () => void): () => void {
  let stop = () => {}
  const wait = () => {
    const timer = setTimeout(tryNow, RETRY_MS)
    stop = () => clearTimeout(timer)
  }
  const tryNow = () => {
    stop = tryToOpen(open(), (isOpen) => (isOpen ? onOpen() : wait()))
  }
  wait()
  return () => stop()
}

/** Tries whether a WebSocket opens, and closes it again. Returns what ends the attempt. */
function tryToOpen(socket: WebSocket, onEnd: (isOpen: boolean) => void): () => void {
  const stop = () => {
    clearTimeout(timer)
    socket.onopen = socket.onclose = null
    socket.close()
  }
  const end = (isOpen: boolean) => {
    stop()
    onEnd(isOpen)
  }
  const timer = setTimeout(() => end(false), OPEN_MS)
  socket.onerror = () => {}
  socket.onclose = () => end(false)
  socket.onopen = () => end(true)
  return stop
}

/**
 * Does the work of a WebSocket where the network blocks them: one request whose answer does not
 * end, and a short one for each frame that is sent later, one after the other.
 */
export class StreamSocket {
  onopen: (() => void) | null = null
  onmessage: ((event: { data: string }) => void) | null = null
  /** Never called: `onclose` is. */
  onerror: (() => void) | null = null
  onclose: ((event: { code: number; reason: string }) => void) | null = null
  readonly #server: string
  readonly #abort = new AbortController()
  #waiting: string[] = []
  #isReceiving = false
  #isSending = false
  /** Names this connection in requests; from the reply to the first command. */
  #session: { session: string; node: string } | undefined

  constructor(
    wsUrl: string,
    readonly fetch: typeof globalThis.fetch,
  ) {
    this.#server = wsUrl.replace(ENDPOINT, 'http$1')
    queueMicrotask(() => this.onopen?.())
  }

  send(frame: string) {
    if (!this.#isReceiving) return void this.#receive(frame).catch((error) => this.#end(error))
    this.#waiting.push(frame)
    void this.#flush().catch((error) => this.#end(error))
  }

  close() {
    this.#abort.abort()
  }

  /** Reads lines until the answer ends. */
  async #receive(frame: string) {
    this.#isReceiving = true
    const { body } = await this.#post(streamPath, frame)
    if (!body) throw new Error('this platform does not stream answers')
    const reader = body.getReader()
    const decoder = new TextDecoder()
    for (let text = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) throw new Error('the stream ended')
      text += decoder.decode(value, { stream: true })
      const end = text.lastIndexOf('\n')
      if (end >= 0) this.#deliver(text.slice(0, end))
      text = text.slice(end + 1)
    }
  }

  #deliver(lines: string) {
    if (this.#abort.signal.aborted) return
    this.#session ??= JSON.parse(lines.split('\n', 1)[0] ?? '').connect
    this.onmessage?.({ data: lines })
    void this.#flush().catch((error) => this.#end(error))
  }

  async #flush() {
    if (this.#isSending || !this.#session) return
    this.#isSending = true
    const { session, node } = this.#session
    while (this.#waiting.length > 0) {
      let data = this.#waiting.shift() ?? ''
      while (this.#waiting.length > 0 && data.length < REQUEST_CHARACTERS)
        data += `\n${this.#waiting.shift()}`
      await this.#post(emulationPath, JSON.stringify({ session, node, data }))
    }
    this.#isSending = false
  }

  async #post(path: string, body: string) {
    const { fetch } = this
    const response = await fetch(this.#server + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
      signal: this.#abort.signal,
    })
    if (!response.ok) throw new Error(`answered ${response.status}`)
    return response
  }

  #end(error: unknown) {
    if (this.#abort.signal.aborted) return
    this.close()
    this.onclose?.({ code: 1006, reason: String(error) })
  }
}
