import { type Envelope, topics } from '@parley/contract'
import type { TransportName } from '@parley/server/realtime/sockets/transport'
import type { Centrifuge } from 'centrifuge'
import { clientOf } from './client.ts'
import { fetchMissed } from './fetch-missed.ts'
import type { ReceivedEvent, Subscription } from './history.ts'
import { forgetTypists } from './received.ts'
import type { Rig } from './rig.ts'

const READY_MS = 60_000

/**
 * Connects every member with an unmodified client, to all channels and their own topic. The members
 * use the transports in turn. After a reconnect they fetch what is not recovered.
 */
export async function startSubscribers(rig: Rig, transports: readonly TransportName[]) {
  const ended = new AbortController()
  const clients = rig.history.members.map((userId, index) => {
    const client = clientOf(rig, userId, transports[index % transports.length])
    const lost = topicsOf(rig, userId).map((topic) =>
      subscribe(rig, { client, userId, topic, signal: ended.signal }),
    )
    client.on('disconnected', ({ code, reason }) => {
      if (code === 0) return
      for (const { losses } of lost) losses.push(`disconnected: ${code} ${reason}`)
    })
    client.connect()
    return client
  })
  await Promise.all(
    clients.flatMap((client) =>
      Object.values(client.subscriptions()).map((subscription) => subscription.ready(READY_MS)),
    ),
  )
  return {
    stop: () => {
      ended.abort()
      for (const client of clients) client.disconnect()
    },
  }
}

const topicsOf = ({ channels, appId }: Rig, userId: string) => [
  ...channels.map(({ topic }) => topic),
  topics.user(appId, userId),
]

type SubscribeOptions = {
  client: Centrifuge
  userId: string
  topic: string
  signal: AbortSignal
}

function subscribe(rig: Rig, { client, userId, topic, signal }: SubscribeOptions) {
  const record: Subscription = { userId, topic, start: -1, received: [], losses: [] }
  rig.history.subscriptions.push(record)
  const random = rig.random.fork()
  let life = new AbortController()
  const subscription = client.newSubscription(topic)
  subscription.on('subscribed', ({ streamPosition, wasRecovering, recovered }) => {
    if (record.start < 0) {
      record.start = streamPosition?.offset ?? 0
      return
    }
    if (!wasRecovering || !recovered) record.losses.push('subscribed again without recovery')
    life.abort()
    life = new AbortController()
    const connected = AbortSignal.any([life.signal, signal])
    if (topic.startsWith('user:')) void fetchMissed(rig, { record, random, signal: connected })
    else forgetTypists(record)
  })
  subscription.on('unsubscribed', ({ code, reason }) => {
    if (code !== 0) record.losses.push(`unsubscribed: ${code} ${reason}`)
  })
  subscription.on('publication', ({ offset, data }) => {
    const event = data as Envelope // from our own server, in JSON
    record.received.push({ ...receivedEvent(offset, event), ...growthOf(event, rig.now()) })
  })
  subscription.subscribe()
  return record
}

/** The parts of an event that the checks compare. */
function receivedEvent(offset: number | undefined, { type, payload }: Envelope): ReceivedEvent {
  return {
    offset,
    type,
    messageId: messageIdOf(payload),
    channelId: 'channelId' in payload ? payload.channelId : undefined,
    userId: 'userId' in payload ? payload.userId : undefined,
    count: 'count' in payload ? payload.count : undefined,
  }
}

/** The text that came for a growing message. */
function growthOf({ type, payload }: Envelope, time: number): Pick<ReceivedEvent, 'growth'> {
  if (type === 'message.delta')
    return { growth: { at: payload.at, text: payload.text, hasEnded: false, time } }
  const message = 'message' in payload ? payload.message : undefined
  if (message?.streaming === undefined) return {}
  const { text, streaming } = message
  return { growth: { at: undefined, text, hasEnded: !streaming, time } }
}

function messageIdOf(payload: Envelope['payload']) {
  if ('message' in payload) return payload.message.id
  return 'messageId' in payload ? payload.messageId : undefined
}
