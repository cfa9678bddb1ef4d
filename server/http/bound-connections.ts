import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from '../core/addresses.ts'

/**
 * Closes the connections of an address beyond so many; 0: none. One that sends nothing is open for
 * a minute, so that a single address could have all that the process may open.
 */
export function boundConnections(server: Pick<Server, 'on'>, most: number) {
  if (most === 0) return
  const counts = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    const count = counts.get(network) ?? 0
    if (count >= most) return socket.destroy()
    counts.set(network, count + 1)
    socket.once('close', () => {
      const left = (counts.get(network) ?? 0) - 1
      if (left > 0) counts.set(network, left)
      else counts.delete(network)
    })
  })
}
