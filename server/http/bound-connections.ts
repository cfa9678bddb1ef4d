import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from '../core/addresses.ts'

/**
 * Closes the connections of an address beyond `most`; 0: no limit. A silent connection is open for
 * a minute, so without a limit a single address could use all that the process may open.
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
