import type { Envelope } from '@parley/contract'
import { Centrifuge, type PublicationContext, type Subscription } from 'centrifuge'
import { Centrifuge as CentrifugeProtobuf } from 'centrifuge/build/protobuf'
import { WebSocket } from 'ws'
import type { User, World } from './world.ts'

export const wsUrlOf = ({ url }: Pick<World, 'url'>) =>
  `${url.replace(/^http/, 'ws')}/connection/websocket`

export const framings = ['json', 'protobuf'] as const
export type Framing = (typeof framings)[number]

/** The unmodified client of the `centrifuge` package, as one user. */
export function centrifugeOf(
  world: Pick<World, 'url'>,
  user: Pick<User, 'minted'>,
  framing: Framing = 'json',
): Centrifuge {
  const Client =
    framing === 'json' ? Centrifuge : (CentrifugeProtobuf as unknown as typeof Centrifuge) // the same class, declared twice
  const client = new Client(wsUrlOf(world), {
    token: user.minted.wsToken,
    websocket: WebSocket,
    minReconnectDelay: 1,
    maxReconnectDelay: 200,
  })
  client.connect()
  return client
}

export type Heard = { offset: number | undefined; envelope: Envelope }
/** What a subscription hears, in order, and a way to wait until it has heard something. */
export class Ear {
  readonly heard: Heard[] = []
  readonly #waiting = new Set<() => void>()

  constructor(readonly subscription: Subscription) {
    subscription.on('publication', ({ offset, data }: PublicationContext) => {
      this.heard.push({ offset, envelope: decode(data) })
      for (const check of this.#waiting) check()
    })
  }

  get types() {
    return this.heard.map(({ envelope }) => envelope.type)
  }

  /** Resolves once the condition holds; fails after `milliseconds`, telling what was heard. */
  until(isEnough: (heard: Heard[]) => boolean, milliseconds = 60_000): Promise<Heard[]> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () =>
          settle(() => reject(new Error(`heard only ${JSON.stringify(this.heard.slice(-20))}`))),
        milliseconds,
      )
      const check = () => isEnough(this.heard) && settle(() => resolve(this.heard))
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
      (heard) => heard.filter(({ envelope }) => envelope.type === type).length >= count,
    )
  }
}

/** The Protobuf client leaves the data as bytes. */
const decode = (data: unknown): Envelope =>
  data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : (data as Envelope) // held against the contract elsewhere

/** Subscribes and waits for the answer. */
export async function listen(
  client: Centrifuge,
  topic: string,
  options: Parameters<Centrifuge['newSubscription']>[1] = {},
) {
  const subscription = client.newSubscription(topic, options)
  const ear = new Ear(subscription)
  subscription.subscribe()
  await subscription.ready(60_000)
  return ear
}

export const once = <T>(
  register: (listener: (value: T) => void) => unknown,
  milliseconds = 60_000,
) =>
  new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('nothing happened')), milliseconds)
    register((value) => {
      clearTimeout(timer)
      resolve(value)
    })
  })
