// Tests that also run with clients that are not connected by WebSockets.
import '../realtime/delivery.test.ts'
import '../realtime/rights.test.ts'
import '../realtime/typing.test.ts'
import '../realtime/nodes.test.ts'
import '../realtime/presence.test.ts'
import '../realtime/recovery/bytes.test.ts'
import '../realtime/recovery/interruptions.test.ts'
import '../realtime/recovery/positions.test.ts'
