import { type ConnectRedis, pauseMs, type RedisConnection } from '../../core/redis.ts'
import { valueWithin } from '../../core/with-timeout.ts'
import { inChunks } from '../chunks.ts'
import { tagOfEachServer } from './redis-shards.ts'

/** How many channels one command subscribes to. */
const CHANNELS_PER_COMMAND = 1_000
/** How long a command may take. */
const COMMAND_MS = 5_000
/** How long others wait for a subscription. */
const SETTLE_MS = 1_000

type RedisSubscriptionsOptions = {
  connect: ConnectRedis
  /** The channel that all nodes listen to. */
  everyone: string
  channelOf: (topic: string) => string
  onPayload: (channel: string, payload: string) => void
  /** Called when all channels are subscribed to, on a new connection. */
  onListening: () => void
  /** Called with how long notes about topics just followed may have been missed. */
  onLate: (milliseconds: number) => void
  /** Called when subscribing failed. It is tried again. */
  onFailed: (error: unknown) => void
}

/** The channels that this node listens to: that of everyone, and those of the topics it follows. */
export function createRedisSubscriptions(options: RedisSubscriptionsOptions) {
  const { connect, everyone, channelOf, onPayload, onListening, onLate, onFailed } = options
  /** How many followers each topic has. */
  const followed = new Map<string, number>()
  /** Topics that were followed or left since the last command. */
  let changed = new Set<string>()
  let flushing: Promise<void> | undefined
  let connection: RedisConnection | undefined
  /** A lost connection subscribes to everything again once it is back. */
  let state: 'lost' | 'subscribing' | 'listening' = 'lost'
  /** How many times in a row Redis refused the channels, as it may for ever. */
  let refusals = 0
  let retry: NodeJS.Timeout | undefined
  /** When the last question was asked that every server of the cluster has answered. */
  let provenAt = performance.now()
  let wasProven = true
  let isProbing = false

  const subscribe = async (channels: string[]) => {
    if (!connection) return
    const { client, isCluster } = connection
    // In a cluster, all channels of a command would have to be on one server.
    if (isCluster) await Promise.all(channels.map((channel) => client.ssubscribe(channel)))
    else await client.subscribe(...channels)
  }
  const unsubscribe = async (channels: string[]) => {
    if (!connection) return
    const { client, isCluster } = connection
    if (isCluster) await Promise.all(channels.map((channel) => client.sunsubscribe(channel)))
    else await client.unsubscribe(...channels)
  }
  const subscribeAll = async (current: RedisConnection) => {
    state = 'subscribing'
    changed = new Set()
    const channels = [everyone, ...[...followed.keys()].map(channelOf)]
    for (const some of inChunks(channels, CHANNELS_PER_COMMAND)) await subscribe(some)
    while (changed.size > 0) await apply()
    if (connection !== current) return
    state = 'listening'
    refusals = 0
    provenAt = performance.now()
    wasProven = true
    onListening()
  }
  const open = () => {
    const current = connect({ name: 'parley-listener', commandMs: COMMAND_MS })
    connection = current
    const { client } = current
    const receive = (channel: string, payload: string) => {
      if (connection === current) onPayload(channel, payload)
    }
    client.on('message', receive).on('smessage', receive)
    client.on('close', () => {
      if (connection === current) state = 'lost'
    })
    client.on('ready', () => {
      if (connection !== current) return
      subscribeAll(current).catch((error) => {
        if (connection === current) failed(error)
      })
    })
    // A part of the cluster moved to other servers, and what these sent before is lost.
    client.on('subscribersReady', () => onLate(SETTLE_MS))
  }
  const leave = () => {
    clearTimeout(retry)
    const last = connection
    connection = undefined
    state = 'lost'
    last?.close()
  }
  /** Replaces a connection that has failed silently. */
  const replace = () => {
    leave()
    open()
  }
  /**
   * Asks each server of a cluster that has channels of this node, since only one server holds the
   * channel that all nodes share: a connection to another may be lost without saying so. The
   * client replaces one that leaves a question unanswered.
   */
  const probe = async () => {
    const current = connection
    if (isProbing || state !== 'listening' || !current || !('slots' in current.client)) return
    isProbing = true
    const askedAt = performance.now()
    // Asks by unsubscribing from channels in the same slots that no node subscribes to. Subscribing
    // again would grow the list that the client keeps of its subscriptions.
    const asked = tagOfEachServer(current.client, [...followed.keys()].map(channelOf))
    const answers = asked.map((tag) => current.client.sunsubscribe(`{${tag}}`))
    const results = await Promise.allSettled(answers)
    isProbing = false
    if (connection !== current || state !== 'listening') return
    const isProven = results.every(({ status }) => status === 'fulfilled')
    if (isProven && !wasProven) onLate(performance.now() - provenAt)
    if (isProven) provenAt = askedAt
    wasProven = isProven
  }
  /** A lost connection comes back by itself. */
  const failed = (error: unknown) => {
    onFailed(error)
    if (state === 'lost') return
    leave()
    retry = setTimeout(open, pauseMs(++refusals))
  }
  const apply = async () => {
    const topics = [...changed]
    changed = new Set()
    const isFollowed = (topic: string) => followed.has(topic)
    const wanted = topics.filter(isFollowed).map(channelOf)
    const unwanted = topics.filter((topic) => !isFollowed(topic)).map(channelOf)
    for (const some of inChunks(wanted, CHANNELS_PER_COMMAND)) await subscribe(some)
    for (const some of inChunks(unwanted, CHANNELS_PER_COMMAND)) await unsubscribe(some)
  }
  const flush = async () => {
    const startedAt = performance.now()
    await new Promise((resolve) => setImmediate(resolve))
    while (changed.size > 0 && state === 'listening')
      await apply().catch((error) => {
        if (state === 'listening') failed(error)
      })
    flushing = undefined
    const milliseconds = performance.now() - startedAt
    if (milliseconds > SETTLE_MS && state === 'listening') onLate(milliseconds)
  }
  const change = (topic: string) => {
    if (state === 'lost') return
    changed.add(topic)
    if (state === 'listening') flushing ??= flush()
  }

  return {
    open,
    replace,
    probe,
    close: leave,
    follow: (topic: string) => {
      const count = followed.get(topic) ?? 0
      followed.set(topic, count + 1)
      if (count === 0) change(topic)
    },
    unfollow: (topic: string) => {
      const count = followed.get(topic) ?? 0
      if (count > 1) return void followed.set(topic, count - 1)
      if (followed.delete(topic)) change(topic)
    },
    settled: () => (flushing ? valueWithin(SETTLE_MS, flushing, () => {}) : undefined),
    isListening: () => state === 'listening',
    problem: () => connection?.problem() ?? '',
    size: () => followed.size,
  }
}
