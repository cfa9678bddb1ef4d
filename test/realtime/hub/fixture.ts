import { type Envelope, topics } from '@parley/contract'
import type { StoredEvent } from '@parley/server/core/event-buffer'
import { createMetrics } from '@parley/server/core/metrics'
import { Recoveries } from '@parley/server/realtime/credit'
import type { EventLog } from '@parley/server/realtime/event-log'
import type { SubscribeGrant } from '@parley/server/realtime/grants'
import { Hub } from '@parley/server/realtime/hub'
import type { OutgoingPublication } from '@parley/server/realtime/publication'
import type { TopicSubscriber } from '@parley/server/realtime/topic/index'
import { vi } from 'vitest'
import { stoppedClock } from '../../support/scripted/time.ts'

export const appId = '019c9b1e-7a52-7cc1-8f0e-0a0000000001'
export const channelId = '019c9b1e-7a52-7cc1-8f0e-0c0000000001'
export const chat = topics.channel(appId, channelId)
export const own = topics.user(appId, 'ana')

/** The hub orders events by offset alone, so that most tests do without real payloads. */
export const anyEvent: Envelope = { type: 'channel.total_unread_changed', payload: { count: 1 } }

type Positions = [topic: string, after: number][]

/** A log in memory. It reads at once; its answers can be held back, as by a slow database. */
class MemoryLog {
  epochName = 'one'
  /** Users who may read no topic. */
  readonly excluded = new Set<string>()
  /** How many events were read for subscribers who missed them. */
  recovered = 0
  /** The positions of each read of a gap. */
  readonly reads: Positions[] = []
  /** Whether no one waits any more for the last grants. */
  isGone: (() => boolean) | undefined
  /** Thrown instead of an answer. */
  failure: Error | undefined
  readonly #kept = new Map<string, StoredEvent[]>()
  readonly #lastOffsets = new Map<string, number>()
  #held: Promise<void> | undefined

  /** Stores an event, as a commit does, without a notification. */
  append(topic: string, event: Envelope = anyEvent, messageId: string | null = null): StoredEvent {
    const offset = this.lastOffset(topic) + 1
    const envelope = JSON.stringify(event)
    const stored: StoredEvent = { ...event, topic, offset, envelope, messageId }
    this.#lastOffsets.set(topic, offset)
    const kept = this.#kept.get(topic)
    if (kept) kept.push(stored)
    else this.#kept.set(topic, [stored])
    return stored
  }

  appendSeveral(topic: string, count: number) {
    return Array.from({ length: count }, () => this.append(topic))
  }

  /** Drops the events up to an offset, as after 24 hours. */
  forget(topic: string, upTo: number) {
    const kept = this.#kept.get(topic) ?? []
    this.#kept.set(
      topic,
      kept.filter(({ offset }) => offset > upTo),
    )
  }

  /** Ends a topic at an earlier offset, without events and in another epoch: as a restore does. */
  rewind(topic: string, offset: number) {
    this.epochName = 'two'
    this.#kept.delete(topic)
    this.#lastOffsets.set(topic, offset)
  }

  /** From now on answers wait for the function that this returns. */
  hold() {
    let release = () => {}
    this.#held = new Promise((resolve) => {
      release = resolve
    })
    return () => {
      this.#held = undefined
      release()
    }
  }

  lastOffset(topic: string) {
    return this.#lastOffsets.get(topic) ?? 0
  }

  readonly log = {
    epoch: async () => this.epochName,
    authorise: (...[requests, isGone]: Parameters<EventLog['authorise']>) => {
      this.isGone = isGone
      return this.#answer(
        requests.map(({ userId, topic, since }): SubscribeGrant => {
          if (this.excluded.has(userId)) return null
          const missed = since === null ? [] : this.#after(topic, since)
          this.recovered += missed.length
          const lastOffset = this.lastOffset(topic)
          return { epoch: this.epochName, lastOffset, missed, memberCount: 2 }
        }),
      )
    },
    readAfter: (positions: Positions) => {
      this.reads.push(positions)
      return this.#answer({
        publications: positions.flatMap(([topic, after]) =>
          this.#after(topic, after).slice(0, 500),
        ),
        isCut: false,
      })
    },
    findAdvanced: (positions: Positions) =>
      this.#answer(
        positions
          .map(([topic, after]) => ({ topic, after, lastOffset: this.lastOffset(topic) }))
          .filter(({ after, lastOffset }) => lastOffset > after),
      ),
    history: async () => [],
  } as unknown as EventLog // Postgres.js's arrays of rows have more properties

  #after(topic: string, after: number) {
    const kept = this.#kept.get(topic) ?? []
    return kept
      .filter(({ offset }) => offset > after)
      .map(({ topic, offset, type, envelope, messageId }) => ({
        ageSeconds: 0,
        topic,
        offset,
        type,
        envelope,
        messageId,
      }))
  }

  async #answer<T>(answer: T): Promise<T> {
    const { failure } = this
    await this.#held
    if (failure) throw failure
    return answer
  }
}

/** Receives a topic: offsets of durable events, types of ephemeral ones. */
export class Listener implements TopicSubscriber {
  readonly id = 'listener'
  readonly appId = appId
  readonly recoveries = new Recoveries()
  readonly isGone = () => false
  readonly received: (number | string)[] = []
  readonly ended: string[] = []

  constructor(readonly userId = 'ana') {}

  deliver({ publication: { offset, type } }: OutgoingPublication) {
    this.received.push(offset ?? type)
  }

  subscriptionEnded(_: string, reason: string) {
    this.ended.push(reason)
  }

  /** Subscribes, from an offset of this epoch on if one is given. */
  async join(hub: Hub, topic: string, after?: number) {
    const recover = after === undefined ? null : { epoch: hub.epoch, offset: after }
    const [subscribed] = await hub.subscribe(this, [{ topic, recover }])
    if (!subscribed) throw new Error(`${this.userId} may not read ${topic}`)
    this.received.push(...subscribed.publications.map(({ offset }) => offset))
    subscribed.release()
    return subscribed
  }
}

/** A hub on a log in memory, and what it reports. */
export async function openHub({ eventMemoryBytes = 2 ** 27 } = {}) {
  const memory = new MemoryLog()
  const problems: string[] = []
  const changes: string[] = []
  metrics.deliveries.reset()
  const hub = new Hub(memory.log, {
    metrics,
    eventMemoryBytes,
    interest: { follow: () => {}, unfollow: () => {}, settled: () => undefined },
    report: (_, problem) => void problems.push(problem),
    onChannelsChanged: (user, { type }) => void changes.push(`${user.userId} ${type}`),
    onReset: ({ userId }) => void changes.push(`${userId} reset`),
  })
  await hub.start()
  return { memory, hub, problems, changes }
}

/** From now on timers run only as `pass` lets them. */
export const stopTimers = () => stoppedClock()

const metrics = createMetrics()
/** How many publications were delivered since the last hub was opened, over all subscribers. */
export const delivered = async () => (await metrics.deliveries.get()).values[0]?.value ?? 0

/** How many events were read to fill gaps, over all hubs. */
export const filled = async (reason: 'hint' | 'reorder' | 'subscribe' | 'missed') =>
  (await metrics.gapsFilled.get()).values.find(({ labels }) => labels.reason === reason)?.value ?? 0

/** The seconds that events of other nodes were on their way, over all hubs. */
export const secondsFromOthers = async () =>
  (await metrics.deliverySeconds.get()).values.find(
    ({ metricName, labels }) => metricName?.endsWith('_sum') && labels.origin === 'other',
  )?.value ?? 0

/** How many bytes of events the topics of the hub keep that was used last. */
export const eventBytes = async () => (await metrics.eventMemory.get()).values[0]?.value ?? 0

/** Lets this much time pass for stopped timers, and reads of gaps be answered. */
export async function pass(milliseconds = 0) {
  if (vi.isFakeTimers()) vi.advanceTimersByTime(milliseconds)
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate)
}

export function permutations<T>(items: T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  )
}
