/** The WebSocket of browsers and of newer versions of Node.js. */
export const WebSocket: typeof globalThis.WebSocket = globalThis.WebSocket
