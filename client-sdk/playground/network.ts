import type { Store } from '@parley/client'

/** A store that is set from outside. */
export type Settable<T> = Store<T> & { set: (next: T) => void }

export function createSettable<T>(initial: T): Settable<T> {
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

/** One user's way to the server. While it is down his calls fail, his socket is gone, and no other can be opened. */
export type Network = {
  isUp: Store<boolean>
  fetch: typeof fetch
  webSocket: typeof WebSocket
  switch: (isUp: boolean) => void
}

export function createNetwork(): Network {
  const isUp = createSettable(true)
  const sockets = new Set<WebSocket>()
  let outage = new AbortController()
  return {
    isUp,
    fetch: (input, init) => {
      if (!isUp.getSnapshot()) return Promise.reject(new TypeError('there is no network'))
      const signals = [outage.signal, ...(init?.signal ? [init.signal] : [])]
      return fetch(input, { ...init, signal: AbortSignal.any(signals) })
    },
    switch: (next) => {
      isUp.set(next)
      if (next) {
        outage = new AbortController()
        window.dispatchEvent(new Event('online')) // as a browser says it
        return
      }
      outage.abort(new TypeError('the network is gone'))
      for (const socket of sockets) lose(socket)
      sockets.clear()
    },
    webSocket: new Proxy(WebSocket, {
      construct: (Real, [url, protocols]: ConstructorParameters<typeof WebSocket>) => {
        if (!isUp.getSnapshot()) return deadSocket()
        const socket = new Real(url, protocols)
        sockets.add(socket)
        socket.addEventListener('close', () => sockets.delete(socket))
        return socket
      },
    }),
  }
}

/** Ends a socket as a network does that is gone: without a farewell that the program could hear. */
function lose(socket: WebSocket) {
  const { onclose } = socket
  socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null
  socket.close()
  onclose?.call(socket, new CloseEvent('close', { code: 1006 }))
}

/** A socket that finds nobody. */
function deadSocket(): WebSocket {
  const socket = new EventTarget() as WebSocket // as much of it as is used before it opens
  Object.assign(socket, { readyState: WebSocket.CLOSED, send: () => {}, close: () => {} })
  setTimeout(() => {
    socket.onerror?.(new Event('error'))
    socket.onclose?.(new CloseEvent('close', { code: 1006 }))
  })
  return socket
}
