import { WebSocket } from 'ws'

// Node.js has had that of browsers since version 22.
Object.assign(globalThis, { WebSocket: globalThis.WebSocket ?? WebSocket })
