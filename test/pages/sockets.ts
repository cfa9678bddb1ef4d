import { onTestFinished, vi } from 'vitest'

/** Sockets that the page opens, until the test ends. */
export function openSockets() {
  const opened: PageSocket[] = []
  class PageSocket extends EventTarget {
    static CLOSED = 3
    readonly readyState = 1
    readonly sent: string[] = []
    isClosed = false
    onopen: unknown = null
    onerror: unknown = null
    onmessage: unknown = null
    onclose: ((event: CloseEvent) => void) | null = null
    constructor() {
      super()
      opened.push(this)
    }
    send(frame: string) {
      this.sent.push(frame)
    }
    close() {
      this.isClosed = true
    }
  }
  vi.stubGlobal('WebSocket', PageSocket)
  vi.stubGlobal('CloseEvent', NodeCloseEvent)
  onTestFinished(() => void vi.unstubAllGlobals())
  return opened
}

/** Node.js has one only in later versions, and takes no events of another DOM. */
export class NodeCloseEvent extends Event {
  readonly code: number
  readonly reason: string
  constructor(type: string, { code = 1005, reason = '' }: CloseEventInit = {}) {
    super(type)
    this.code = code
    this.reason = reason
  }
}
