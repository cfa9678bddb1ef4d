import { IncomingMessage } from 'node:http'

/**
 * A request as the server reads it: an upgrade only if it asks for a WebSocket. Once WebSockets are
 * served, Node.js takes every `Upgrade` for one, and leaves the body of its request unread. Clients
 * that offer HTTP/2 that way, as Java's does in each request, mean a request like any other.
 */
export class ServedRequest extends IncomingMessage {
  /** Set by Node.js, which sets and reads `upgrade`; its types do not have it. */
  declare private isUpgrade: boolean | null

  set upgrade(isUpgrade: boolean | null) {
    this.isUpgrade = isUpgrade
  }
  get upgrade() {
    if (!this.isUpgrade) return this.isUpgrade
    return this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket'
  }
}
