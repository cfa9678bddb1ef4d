/** The part of an EventSource that clients use. Node.js 20 has none. It does not reconnect. */
export class TestEventSource {
  onopen = () => {}
  onerror = (_: unknown) => {}
  onmessage = (_: { data: string }) => {}
  readonly #abort = new AbortController()

  constructor(url: string) {
    this.#read(url).catch((error) => {
      if (!this.#abort.signal.aborted) this.onerror(error)
    })
  }

  close() {
    this.#abort.abort()
  }

  async #read(url: string) {
    const { body, ok } = await fetch(url, { signal: this.#abort.signal })
    if (!ok || !body) throw new Error('refused')
    this.onopen()
    let text = ''
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const events = `${text}${chunk}`.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) this.#dispatch(event)
    }
    throw new Error('ended')
  }

  #dispatch(event: string) {
    const lines = event.split('\n').filter((line) => line.startsWith('data: '))
    const data = lines.map((line) => line.slice('data: '.length)).join('\n')
    if (lines.length > 0 && !this.#abort.signal.aborted) this.onmessage({ data })
  }
}
