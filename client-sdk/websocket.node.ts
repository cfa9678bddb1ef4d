import { WebSocket as NodeWebSocket } from 'ws'

/** The WebSocket of Node.js 20, which has none of its own. */
export const WebSocket = NodeWebSocket as unknown as typeof globalThis.WebSocket // the same interface
