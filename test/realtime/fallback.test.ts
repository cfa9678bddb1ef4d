import type { TransportName } from '@parley/server/realtime/sockets/transport'
import type { Centrifuge } from 'centrifuge'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createProxy } from '../support/network.ts'
import { centrifugeOf, type Framing, listen } from '../support/realtime.ts'
import { until } from '../support/until.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'

const world = useWorld()
let ana: User
let other: World
beforeAll(async () => {
  ;[ana] = await world().users('ana', 'ben')
  other = await createWorld({ databaseUrl: world().databaseUrl })
})
afterAll(() => other.stop())

const opened = async () => {
  const network = await createProxy(world().url)
  onTestFinished(network.stop)
  return network
}
const tracked = (client: Centrifuge) => {
  onTestFinished(() => client.disconnect())
  return client
}
const createGroup = async () =>
  (await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })).id
const sendAll = async (channelId: string, ...texts: string[]) => {
  for (const text of texts) await ana.messages.send({ channelId, text })
}

describe('an unmodified client', () => {
  const all: TransportName[] = ['websocket', 'http_stream', 'sse']
  test.each(['refused', 'swallowed'] as const)(
    'falls back to a stream by itself where WebSockets are %s',
    async (fault) => {
      const network = await opened()
      network.block(fault)
      const transports = fault === 'refused' ? all : (['websocket', 'sse'] as const)
      const client = tracked(centrifugeOf(network, ana, 'json', { transports, timeout: 1_500 }))
      const channelId = await createGroup()
      const listener = await listen(client, `chat:${world().appId}:${channelId}`)
      await sendAll(channelId, 'hello')
      await listener.untilType('message.new')
      expect(network.opened).toEqual(
        fault === 'refused' ? { http_stream: 1, sse: 0 } : { http_stream: 0, sse: 1 },
      )
    },
  )

  const kinds: [TransportName, Framing][] = [
    ['http_stream', 'json'],
    ['http_stream', 'protobuf'],
    ['sse', 'json'],
  ]
  test.each(kinds)(
    'over %s, in %s, gets each event once and in order, whatever is cut, over two nodes',
    async (transport, framing) => {
      const network = await opened()
      const options = { transports: [transport], emulationNode: other }
      const client = tracked(centrifugeOf(network, ana, framing, options))
      const channelId = await createGroup()
      const listener = await listen(client, `chat:${world().appId}:${channelId}`)
      const texts = Array.from({ length: 12 }, (_, index) => `${index}`)
      await sendAll(channelId, ...texts.slice(0, 4))
      network.reset()
      await sendAll(channelId, ...texts.slice(4, 8))
      await listener.untilType('message.new', 8)
      await sendAll(channelId, ...texts.slice(8))
      await listener.untilType('message.new', 12)
      const offsets = listener.received.flatMap(({ offset }) => offset ?? [])
      expect(offsets).toEqual(offsets.map((_, index) => (offsets[0] ?? 0) + index))
      await until(() => network.opened[transport as 'sse'] >= 2)
    },
  )
})
