import { streamPaths } from '@parley/contract'
import type { TransportName } from '@parley/server/realtime/sockets/transport'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { TestEventSource } from '../support/event-source.ts'
import type { Rig } from './rig.ts'

/** An unmodified client of a user. It connects to any node. */
export function clientOf(
  { url, wsTokenOf }: Rig,
  userId: string,
  transport: TransportName = 'websocket',
) {
  const path = transport === 'websocket' ? '/connection/websocket' : streamPaths[transport]
  const endpoint = `${transport === 'websocket' ? url.replace('http', 'ws') : url}${path}`
  return new Centrifuge([{ transport, endpoint }], {
    token: wsTokenOf(userId),
    websocket: WebSocket,
    eventsource: TestEventSource,
    emulationEndpoint: `${url}${streamPaths.emulation}`,
    minReconnectDelay: 50,
    maxReconnectDelay: 1_000,
  })
}
