import { type Envelope, streamPaths } from '@parley/contract'
import type { TransportName } from '@parley/server/realtime/sockets/transport'
import { Centrifuge, type PublicationContext, type Subscription } from 'centrifuge'
import { Centrifuge as CentrifugeProtobuf } from 'centrifuge/build/protobuf'
import { WebSocket } from 'ws'
import { TestEventSource } from './event-source.ts'
import type { User, World } from './world.ts'

export const wsUrlOf = ({ url }: Pick<World, 'url'>) =>
  `${url.replace(/^http/, 'ws')}/connection/websocket`

export const framings = ['json', 'protobuf'] as const
export type Framing = (typeof framings)[number]

type CentrifugeOptions = {
  transports?: readonly TransportName[]
  /** Where commands are sent without a WebSocket, if not to the node of the stream. */
  emulationNode?: Pick<World, 'url'>
  timeout?: number
}

/** The transports of clients, unless a test sets others. */
export const underTest: { transports: readonly TransportName[] } = { transports: ['websocket'] }

const endpointsOf = (world: Pick<World, 'url'>, transports: readonly TransportName[]) => {
  if (transports.join() === 'websocket') return wsUrlOf(world)
  return transports.map((transport) => ({
    transport,
    endpoint: transport === 'websocket' ? wsUrlOf(world) : `${world.url}${streamPaths[transport]}`,
  }))
}

/** The unmodified client of the `centrifuge` package, as one user. */
export function centrifugeOf(
  world: Pick<World, 'url'>,
  user: { minted: Pick<User['minted'], 'wsToken'> },
  framing: Framing = 'json',
  options: CentrifugeOptions = {},
): Centrifuge {
  // The same class, declared twice.
  const protobufClient = CentrifugeProtobuf as unknown as typeof Centrifuge
  const transports = options.transports ?? underTest.transports
  // Server-sent events are text.
  const isText = framing === 'json' || transports.includes('sse')
  const Client = isText ? Centrifuge : protobufClient
  const client = new Client(endpointsOf(world, transports), {
    token: user.minted.wsToken,
    websocket: WebSocket,
    eventsource: TestEventSource,
    emulationEndpoint: `${options.emulationNode?.url ?? world.url}${streamPaths.emulation}`,
    minReconnectDelay: 1,
    maxReconnectDelay: 200,
    // A command that a busy machine answers late is no reason to connect again.
    timeout: options.timeout ?? 60_000,
  })
  client.connect()
  return client
}

export type ReceivedEvent = { offset: number | undefined; envelope: Envelope }

/** The events that a subscription receives, in order, and a way to wait for them. */
export class TopicListener {
  readonly received: ReceivedEvent[] = []
  readonly #waiting = new Set<() => void>()

  constructor(readonly subscription: Subscription) {
    subscription.on('publication', ({ offset, data }: PublicationContext) => {
      this.received.push({ offset, envelope: decode(data) })
      for (const check of this.#waiting) check()
    })
  }

  get types() {
    return this.received.map(({ envelope }) => envelope.type)
  }

  /** Resolves once the condition holds; after `milliseconds` it fails with the last events. */
  until(
    isComplete: (received: ReceivedEvent[]) => boolean,
    milliseconds = 60_000,
  ): Promise<ReceivedEvent[]> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        const last = JSON.stringify(this.received.slice(-20))
        settle(() => reject(new Error(`received only ${last}`)))
      }
      const timer = setTimeout(giveUp, milliseconds)
      const check = () => {
        if (isComplete(this.received)) settle(() => resolve(this.received))
      }
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(check)
        end()
      }
      this.#waiting.add(check)
      check()
    })
  }

  untilType(type: Envelope['type'], count = 1) {
    return this.until(
      (received) => received.filter(({ envelope }) => envelope.type === type).length >= count,
    )
  }
}

/** The Protobuf client delivers the data as bytes. It is checked against the contract elsewhere. */
const decode = (data: unknown): Envelope =>
  data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : (data as Envelope)

/** Subscribes and waits for the answer. */
export async function listen(
  client: Centrifuge,
  topic: string,
  options: Parameters<Centrifuge['newSubscription']>[1] = {},
) {
  const subscription = client.newSubscription(topic, options)
  const listener = new TopicListener(subscription)
  subscription.subscribe()
  await subscription.ready(60_000)
  return listener
}
