import { setTimeout } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import type { ConnectRedis } from '../../core/redis.ts'
import { timings as defaults, type Timings } from '../timings.ts'
import { type Broker, inboxOf } from './index.ts'
import { createListenerWatch, type ListenerWatch } from './listener-watch.ts'
import { createNoteCounts } from './note-counts.ts'
import { createNoteReceiver } from './note-receiver.ts'
import { createRedisSender } from './redis-sender.ts'
import { createRedisSubscriptions } from './redis-subscriptions.ts'

/** How long a start waits for Redis, and a stop for the last notes. */
const PATIENCE_MS = 1_000
const COMMAND_MS = 2_000

export type RedisBrokerOptions = {
  connect: ConnectRedis
  /** The prefix of the channels, which differs between services that share a Redis. */
  prefix: string
  nodeId: string
  log: Log<'warn' | 'info'>
  report: (error: unknown, problem: string) => void
  /** Called with the number of payloads or notes that could not be sent. */
  onLost: (count: number) => void
  /** Called with the number of topics that this node follows. */
  onTopics: (count: number) => void
  timings?: Partial<Timings> | undefined
}

type RedisBroker = Broker & {
  listener: ListenerWatch
  /** Whether notes are received, as far as is known. */
  isUp: () => boolean
}

/**
 * Sends notes by PUBLISH and receives them by SUBSCRIBE, in a cluster by SPUBLISH and SSUBSCRIBE.
 * Each topic has a channel, to which the nodes that follow it listen; what concerns users beyond a
 * topic goes to all nodes. Redis may lose everything, and be away at any time.
 */
export function createRedisBroker(options: RedisBrokerOptions): RedisBroker {
  const { prefix, nodeId, log, report, onLost, onTopics } = options
  const { brokerBeatMs, brokerSilenceMs, silentNodeMs, lookMs } = {
    ...defaults,
    ...options.timings,
  }
  const everyone = `${prefix}:nodes`
  const channelOf = (topic: string) => `${prefix}:topic:${topic}`
  const publisher = options.connect({ name: 'parley-notifier', commandMs: COMMAND_MS })
  const watch = createListenerWatch(brokerSilenceMs)
  const outage = createOutageLog(log)
  let lastHeardAt = performance.now()
  let receivedAt = lastHeardAt
  let heartbeat: NodeJS.Timeout | undefined
  let silenceWatch: NodeJS.Timeout | undefined
  let subscriptions: ReturnType<typeof createRedisSubscriptions> | undefined
  let handleMissed = (_milliseconds: number, _nodeId?: string) => {}
  const counts = createNoteCounts({
    silentMs: silentNodeMs,
    onMissed: (...missed) => handleMissed(...missed),
    onPeer: () => beat(),
  })

  const sender = createRedisSender({
    nodeId,
    everyone,
    channelOf,
    publish: (channel, payload) =>
      publisher.isCluster
        ? publisher.client.spublish(channel, payload)
        : publisher.client.publish(channel, payload),
    onLost: (count) => {
      onLost(count)
      outage.began(publisher.problem())
    },
  })
  const beat = () => {
    const failed = watch.sent()
    sender.beat().catch(failed)
  }
  const listen = ({ onNote, onMissedNotes }: Parameters<Broker['start']>[0]) => {
    handleMissed = onMissedNotes
    const onPayload = createNoteReceiver({
      nodeId,
      counts,
      onNote,
      onOwn: (isBeat) => {
        lastHeardAt = performance.now()
        receivedAt = lastHeardAt
        watch.received(isBeat)
        outage.ended()
      },
      report,
    })
    return createRedisSubscriptions({
      connect: options.connect,
      everyone,
      channelOf,
      onLate: onMissedNotes,
      onFailed: (error) => outage.began(`the channels were refused: ${error}`),
      onPayload: (channel, payload) => {
        // Only what goes to all nodes shows that this connection gets everything.
        if (channel !== everyone && payload.startsWith(`${nodeId}\n`)) return
        onPayload(payload)
      },
      onListening: () => {
        lastHeardAt = performance.now()
        watch.restarted()
        counts.restarted()
        onMissedNotes(performance.now() - receivedAt)
        beat()
      },
    })
  }

  const follow = (change: 'follow' | 'unfollow', topic: string) => {
    subscriptions?.[change](topic)
    // The inbox of this node is no topic.
    onTopics(Math.max(0, (subscriptions?.size() ?? 0) - 1))
  }

  return {
    listener: watch,
    send: sender.send,
    follow: (topic) => follow('follow', topic),
    unfollow: (topic) => follow('unfollow', topic),
    settled: () => subscriptions?.settled(),
    // True while it does not listen, since it cannot know.
    hasPeers: () => subscriptions?.isListening() !== true || counts.hasPeers(),
    isUp: () => subscriptions?.isListening() === true && publisher.isReady(),
    async start(listener) {
      const current = listen(listener)
      subscriptions = current
      current.follow(inboxOf(nodeId))
      current.open()
      await untilTrue(() => current.isListening() && publisher.isReady())
      if (!current.isListening()) outage.began(current.problem())
      heartbeat = setInterval(() => {
        if (!sender.isFlushing()) beat()
        void current.probe()
      }, brokerBeatMs)
      silenceWatch = setInterval(
        () => {
          counts.check(receivedAt)
          if (performance.now() - lastHeardAt <= brokerSilenceMs) return
          lastHeardAt = performance.now()
          outage.began(current.problem())
          current.replace()
        },
        Math.min(lookMs, brokerBeatMs),
      )
    },
    async stop() {
      clearInterval(heartbeat)
      clearInterval(silenceWatch)
      const last = Promise.resolve(sender.flushed()).then(sender.leave)
      await Promise.race([last.catch(() => {}), setTimeout(PATIENCE_MS, undefined, { ref: false })])
      subscriptions?.close()
      publisher.close()
    },
  }
}

/** Logs one line when Redis is lost, and one when this node listens again. */
function createOutageLog(log: Log<'warn' | 'info'>) {
  let began: number | undefined
  return {
    began: (fault: string) => {
      if (began !== undefined) return
      began = performance.now()
      log.warn({ fault }, 'Redis unavailable: other nodes learn of events by reconciliation')
    },
    ended: () => {
      if (began === undefined) return
      log.info({ ms: Math.round(performance.now() - began) }, 'Redis available again')
      began = undefined
    },
  }
}

/** Resolves once the condition holds, or after a while. */
async function untilTrue(holds: () => boolean) {
  const end = performance.now() + PATIENCE_MS
  while (!holds() && performance.now() < end) await setTimeout(10)
}
