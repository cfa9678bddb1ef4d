import { underTest } from '../support/realtime.ts'

// The tests of these files, with clients that are not connected by WebSockets.
underTest.transports = ['http_stream']
await import('../realtime/delivery.test.ts')
await import('../realtime/rights.test.ts')
await import('../realtime/typing.test.ts')
await import('../realtime/nodes.test.ts')
await import('../realtime/presence.test.ts')
await import('../realtime/recovery/bytes.test.ts')
await import('../realtime/recovery/interruptions.test.ts')
await import('../realtime/recovery/positions.test.ts')
