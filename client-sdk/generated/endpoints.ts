// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
/** Where the server accepts WebSockets. */
export const endpointPath = '/connection/websocket'

/** Where it sends what a WebSocket would, in an answer that does not end. */
export const streamPath = '/connection/http_stream'

/** Where it takes the commands that go with such an answer. */
export const emulationPath = '/emulation'
