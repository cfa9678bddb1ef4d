import { setTimeout as delay } from 'node:timers/promises'
import { type Envelope, streamPaths, topics } from '@parley/contract'
import type { TransportName } from '@parley/server/realtime/transport'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { TestEventSource } from '../support/event-source.ts'
import { isOnline } from './find.ts'
import { GRACE_MS, type Heard, type Subscription } from './history.ts'
import type { Rig } from './rig.ts'

const READY_MS = 60_000
const ASK_EVERY_MS = 200

/**
 * Connects every member with an unmodified client, to all channels and their own topic. The members
 * use the transports in turn.
 */
export async function startSubscribers(rig: Rig, transports: readonly TransportName[]) {
  const clients = rig.history.members.map((userId, index) => {
    const client = clientOf(rig, userId, transports[index % transports.length])
    const lost = topicsOf(rig, userId).map((topic) => subscribe(rig, { client, userId, topic }))
    client.on('disconnected', ({ code, reason }) => {
      if (code === 0) return
      for (const { losses } of lost) losses.push(`disconnected: ${code} ${reason}`)
    })
    client.connect()
    return client
  })
  const ready = async () => {
    await Promise.all(
      clients.flatMap((client) =>
        Object.values(client.subscriptions()).map((subscription) => subscription.ready(READY_MS)),
      ),
    )
  }
  await ready()
  return {
    /** Resolves when all are connected and subscribed. */
    ready,
    stop: () => {
      for (const client of clients) client.disconnect()
    },
  }
}

/** Lets the visitors come and go until `signal`. */
export function startVisitors(rig: Rig, signal: AbortSignal) {
  const guests = rig.history.visitors.map((visitor) => ({
    visitor,
    client: clientOf(rig, visitor.userId),
    random: rig.random.fork(),
  }))
  type Guest = (typeof guests)[number]
  const change = ({ visitor, client }: Guest) => {
    visitor.isConnected = !visitor.isConnected
    if (visitor.isConnected) client.connect()
    else client.disconnect()
  }
  const visit = async (guest: Guest) => {
    while (!signal.aborted) {
      change(guest)
      await delay(guest.random.between(300, 4_000), undefined, { signal }).catch(() => {})
    }
  }
  /** Resolves when all nodes say so. */
  const isKnown = async ({ visitor: { userId, isConnected } }: Guest) => {
    const began = rig.now()
    for (const node of rig.nodes)
      while ((await isOnline(rig, node, userId)) !== isConnected) await delay(ASK_EVERY_MS)
    rig.history.told.push(rig.now() - began - (isConnected ? 0 : GRACE_MS))
  }
  return {
    ended: Promise.all(guests.map(visit)),
    /** Whoever was not connected missed who came and left. Each visitor does both once more. */
    changeTwice: () =>
      Promise.all(
        guests.map(async (guest) => {
          change(guest)
          await isKnown(guest)
          change(guest)
        }),
      ),
    stop: () => {
      for (const { client } of guests) client.disconnect()
    },
  }
}

function clientOf({ url, wsTokenOf }: Rig, userId: string, transport: TransportName = 'websocket') {
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

const topicsOf = ({ channels, appId }: Rig, userId: string) => [
  ...channels.map(({ topic }) => topic),
  topics.user(appId, userId),
]

function subscribe(
  { history, now }: Rig,
  { client, userId, topic }: { client: Centrifuge; userId: string; topic: string },
) {
  const record: Subscription = { userId, topic, start: -1, heard: [], losses: [] }
  history.subscriptions.push(record)
  const subscription = client.newSubscription(topic)
  subscription.on('subscribed', ({ streamPosition, wasRecovering, recovered }) => {
    if (record.start < 0) record.start = streamPosition?.offset ?? 0
    else if (!wasRecovering || !recovered) record.losses.push('subscribed again without recovery')
  })
  subscription.on('unsubscribed', ({ code, reason }) => {
    if (code !== 0) record.losses.push(`unsubscribed: ${code} ${reason}`)
  })
  subscription.on('publication', ({ offset, data }) => {
    const event = data as Envelope // from our own server, in JSON
    record.heard.push({ ...heardOf(offset, event), ...growthOf(event, now()) })
  })
  subscription.subscribe()
  return record
}

/** What the checks compare of an event. */
function heardOf(offset: number | undefined, { type, payload }: Envelope): Heard {
  return {
    offset,
    type,
    messageId: messageIdOf(payload),
    channelId: 'channelId' in payload ? payload.channelId : undefined,
    userId: 'userId' in payload ? payload.userId : undefined,
    count: 'count' in payload ? payload.count : undefined,
  }
}

/** Of a message that grows: what came. */
function growthOf({ type, payload }: Envelope, time: number): Pick<Heard, 'growth'> {
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
