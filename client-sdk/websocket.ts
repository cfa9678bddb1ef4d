/** The WebSocket of browsers and of newer Node.js. */
export const WebSocket: typeof globalThis.WebSocket = globalThis.WebSocket
