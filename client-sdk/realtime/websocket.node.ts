import { WebSocket as NodeWebSocket } from 'ws'

/** Node.js 20 has no WebSocket of its own; that of `ws` has the same interface. */
export const WebSocket = NodeWebSocket as unknown as typeof globalThis.WebSocket
