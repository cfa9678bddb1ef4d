import type { Server as HttpServer } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'

/** How many connections may come one after the other before the port is closed. */
const MOST_TURNS = 200

/** Without closing connections that happen to be idle, as the method of an HTTP server would. */
export const stopListening = (server: HttpServer) => void NetServer.prototype.close.call(server)

/**
 * Accepts connections until none waits, and stops listening. Those that still wait when a port is
 * closed are reset: proxies that do not ask for the health send requests to the last, and answer
 * 502 then. Each turn of the event loop accepts one.
 */
export async function closePort(server: HttpServer) {
  let hasAccepted = true
  const note = () => {
    hasAccepted = true
  }
  server.on('connection', note)
  for (let turns = 0; hasAccepted && turns < MOST_TURNS; turns++) {
    hasAccepted = false
    await setImmediate()
  }
  server.off('connection', note)
  stopListening(server)
}
