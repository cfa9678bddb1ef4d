import type { Store } from '@parley/client'

/** A store that its owner can set. */
export type WritableStore<T> = Store<T> & { set: (next: T) => void }

export function createWritableStore<T>(initial: T): WritableStore<T> {
  const listeners = new Set<() => void>()
  let snapshot = initial
  return {
    getSnapshot: () => snapshot,
    subscribe: (listener) => {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    set: (next) => {
      snapshot = next
      for (const listener of [...listeners]) listener()
    },
  }
}

/** A user's connection to the server, with a switch. While it is off, calls and sockets fail. */
export type Network = {
  isUp: Store<boolean>
  fetch: typeof fetch
  webSocket: typeof WebSocket
  switch: (isUp: boolean) => void
}

/** A network whose switch is remembered until the tab is closed, by its name. */
export function createNetwork(name: string): Network {
  const key = `parley-playground-offline-${name}`
  const isUp = createWritableStore(sessionStorage.getItem(key) === null)
  const sockets = new Set<WebSocket>()
  let outage = new AbortController()
  return {
    isUp,
    fetch: (input, init) => {
      if (!isUp.getSnapshot()) return Promise.reject(new TypeError('the network is off'))
      const signals = [outage.signal, ...(init?.signal ? [init.signal] : [])]
      return fetch(input, { ...init, signal: AbortSignal.any(signals) })
    },
    switch: (next) => {
      isUp.set(next)
      if (next) sessionStorage.removeItem(key)
      else sessionStorage.setItem(key, 'yes')
      if (next) {
        outage = new AbortController()
        window.dispatchEvent(new Event('online')) // what a browser does
        return
      }
      outage.abort(new TypeError('the network went off'))
      for (const socket of sockets) breakSocket(socket)
      sockets.clear()
    },
    webSocket: new Proxy(WebSocket, {
      construct: (Real, [url, protocols]: ConstructorParameters<typeof WebSocket>) => {
        if (!isUp.getSnapshot()) return createFailingSocket()
        const socket = new Real(url, protocols)
        sockets.add(socket)
        socket.addEventListener('close', () => sockets.delete(socket))
        return socket
      },
    }),
  }
}

/** Breaks a socket as a lost network does: abnormally (1006), without a closing handshake. */
function breakSocket(socket: WebSocket) {
  const { onclose } = socket
  socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null
  socket.close()
  onclose?.call(socket, new CloseEvent('close', { code: 1006 }))
}

/** A socket that fails to connect. */
function createFailingSocket(): WebSocket {
  const socket = new EventTarget() as WebSocket // as much of one as is used before it opens
  Object.assign(socket, { readyState: WebSocket.CLOSED, send: () => {}, close: () => {} })
  setTimeout(() => {
    const close = new CloseEvent('close', { code: 1006 })
    socket.onerror?.(new Event('error'))
    socket.onclose?.(close)
    socket.dispatchEvent(close)
  })
  return socket
}
